import type { Readable } from 'node:stream';
import { type MessageReader, StreamMessageReader } from 'vscode-jsonrpc/node';

/**
 * Reads JSON-RPC messages framed by their length. The library's reader reports messages that arrive in parts, by a timer that
 * it restarts for as long as the rest is missing, even after the stream has ended or the connection was disposed: a program
 * with nothing left to do would never exit. Nobody listens to these reports, so the timer is off.
 */
export function messageReader(stream: Readable): MessageReader {
	const reader = new StreamMessageReader(stream);
	reader.partialMessageTimeout = 0;
	return reader;
}
