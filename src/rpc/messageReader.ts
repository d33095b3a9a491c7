import type { Readable } from 'node:stream';
import { type MessageReader, StreamMessageReader } from 'vscode-jsonrpc/node';

/**
 * Reads JSON-RPC messages with their length before them. The reader of the library watches for messages that come in parts,
 * with a timer that it sets anew for good, also when the stream has ended or the connection was disposed in the middle of
 * one: a program that has nothing left to do would never end. Nobody listens to what it tells.
 */
export function messageReader(stream: Readable): MessageReader {
	const reader = new StreamMessageReader(stream);
	reader.partialMessageTimeout = 0;
	return reader;
}
