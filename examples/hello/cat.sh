#!/bin/sh
# SPDX-License-Identifier: MIT
sennit cat rep --bind ipc://hello.sock --echo --count 1 &
sennit cat req --connect ipc://hello.sock --send hello --recv --count 1
wait
