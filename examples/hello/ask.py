#!/usr/bin/python3
# SPDX-License-Identifier: MIT
import sys
import zmq

socket = zmq.Context.instance().socket(zmq.REQ)
socket.connect(sys.argv[1])
socket.send_string("hello")
print(socket.recv_string())
