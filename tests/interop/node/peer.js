// SPDX-License-Identifier: MIT
/* libzmq 4.3.5, as the npm package `zeromq` ships it, on the other side of the
 * interoperation tests: one process with any number of sockets, driven over stdin.
 * The requests are those of interop_peer.c; the driver of both is peer.py.
 *
 *   open SOCK TYPE [ID=KIND:VALUE ...]   options of zmq.h by number; KIND is i32, i64
 *                                        or hex
 *   set SOCK ID=KIND:VALUE
 *   bind SOCK ENDPOINT                   -> ok ENDPOINT (as the system chose it)
 *   connect|disconnect|unbind SOCK ENDPOINT
 *   send SOCK MS SIZE...                 + the bodies of all parts
 *   recv SOCK MS                         -> ok SIZE..., then the bodies
 *   close SOCK
 *   version -                            -> ok VERSION, of libzmq */
"use strict";

const zmq = require("zeromq");
const draft = require("zeromq/draft");

const TYPES = {
    PAIR: zmq.Pair, PUB: zmq.Publisher, SUB: zmq.Subscriber, REQ: zmq.Request,
    REP: zmq.Reply, DEALER: zmq.Dealer, ROUTER: zmq.Router, PULL: zmq.Pull,
    PUSH: zmq.Push, XPUB: zmq.XPublisher, XSUB: zmq.XSubscriber, STREAM: zmq.Stream,
    SERVER: draft.Server, CLIENT: draft.Client, RADIO: draft.Radio, DISH: draft.Dish,
    GATHER: draft.Gather, SCATTER: draft.Scatter,
};

/* ---- Input ------------------------------------------------------------ */

let input = Buffer.alloc(0);
const chunks = process.stdin[Symbol.asyncIterator]();

async function fill() {
    const { value, done } = await chunks.next();
    if (!done)
        input = input.length ? Buffer.concat([input, value]) : value;
    return !done;
}

/* null at the end of the input. */
async function takeLine() {
    let end;
    while ((end = input.indexOf(10)) < 0)
        if (!await fill())
            return null;
    const line = input.toString("latin1", 0, end);
    input = input.subarray(end + 1);
    return line;
}

async function takeBodies(sizes) {
    const parts = [];
    for (const size of sizes) {
        while (input.length < size)
            if (!await fill())
                throw new Error("the input ended inside a body");
        parts.push(input.subarray(0, size));
        input = input.subarray(size);
    }
    return parts;
}

/* ---- Requests --------------------------------------------------------- */

const socks = new Map();

function set(sock, option) {
    const [, id, kind, value] = option.match(/^(\d+)=(i32|i64|hex):(.*)$/);
    if (kind === "i32")
        sock.setInt32Option(Number(id), Number(value));
    else if (kind === "i64")
        sock.setInt64Option(Number(id), Number(value));
    else
        sock.setStringOption(Number(id), Buffer.from(value, "hex"));
}

/* The package waits for an edge of libzmq's descriptor, and misses the next one when all
 * that came is what libzmq itself drops (a REQ's late reply). So it is asked again. */
async function receive(sock, ms) {
    const end = Date.now() + ms;
    for (;;) {
        const left = Math.max(0, end - Date.now());
        sock.receiveTimeout = Math.min(left, 100);
        try {
            return await sock.receive();
        } catch (error) {
            if (error.code !== "EAGAIN" || left <= 100)
                throw error;
        }
    }
}

/* Gives the answer's words, and perhaps bodies to follow them. */
async function handle(verb, name, words) {
    const sock = socks.get(name);
    switch (verb) {
    case "version":
        return [zmq.version];
    case "open":
        socks.set(name, new TYPES[words[0]]());
        for (const option of words.slice(1))
            set(socks.get(name), option);
        return [];
    case "set":
        set(sock, words[0]);
        return [];
    case "bind":
        await sock.bind(words[0]);
        return [sock.lastEndpoint];
    case "connect":
        sock.connect(words[0]);
        return [];
    case "disconnect":
        sock.disconnect(words[0]);
        return [];
    case "unbind":
        await sock.unbind(words[0]);
        return [];
    case "send": {
        const parts = await takeBodies(words.slice(1).map(Number));
        sock.sendTimeout = Number(words[0]);
        await sock.send(parts);
        return [];
    }
    case "recv": {
        const parts = await receive(sock, Number(words[0]));
        return [...parts.map((part) => part.length), parts];
    }
    case "close":
        sock.close();
        socks.delete(name);
        return [];
    default:
        throw new Error(`unknown request ${verb}`);
    }
}

async function drive() {
    for (let line; (line = await takeLine()) !== null;) {
        const [verb, name, ...words] = line.split(" ");
        let answer, bodies = [];
        try {
            answer = await handle(verb, name, words);
            if (Array.isArray(answer[answer.length - 1]))
                bodies = answer.pop();
            answer = ["ok", ...answer].join(" ");
        } catch (error) {
            if (!error.code)
                throw error;
            answer = `err ${error.code} ${error.message}`;
        }
        process.stdout.write(Buffer.concat([Buffer.from(answer + "\n"), ...bodies]));
    }
    for (const sock of socks.values())
        sock.close();
}

drive().catch((error) => {
    console.error("peer.js:", error);
    process.exit(2);
});
