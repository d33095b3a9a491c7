import type { Socket } from 'node:net';
import { type Message, SocketMessageWriter } from 'vscode-jsonrpc/node';

/** Writes messages, and ends the connection after the one marked as the last. */
export class LastMessageWriter extends SocketMessageWriter {
	readonly #socket: Socket;
	#last = false;

	constructor(socket: Socket) {
		super(socket);
		this.#socket = socket;
	}

	/** Ends the connection once the next message has been written. */
	endAfterNext(): void {
		this.#last = true;
	}

	override async write(message: Message): Promise<void> {
		await super.write(message);
		if (this.#last) this.#socket.end(() => this.#socket.destroy());
	}
}
