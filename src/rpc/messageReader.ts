import type { Readable } from 'node:stream';
import { type MessageReader, StreamMessageReader } from 'vscode-jsonrpc/node';

/**
 * Reads length-framed JSON-RPC messages. The library's reader has a timer to report messages that arrive in parts. The
 * reader restarts the timer while part of a message is missing, even after the stream has ended or the connection was
 * disposed of, so a program with nothing left to do would never exit. These reports are not used, so the timer is
 * disabled.
 */
export function messageReader(stream: Readable): MessageReader {
	const reader = new StreamMessageReader(stream);
	reader.partialMessageTimeout = 0;
	return reader;
}
