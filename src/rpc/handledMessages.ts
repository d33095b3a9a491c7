import type { Message, MessageStrategy } from 'vscode-jsonrpc/node';

/** Turns of the event loop between a message that has come and its handling, with some to spare. */
const turns = 10;

/**
 * What a connection has handled. It decodes and handles one message in some turns of the event loop, so that its stream may
 * end while the last ones, an answer among them, still wait.
 */
export class HandledMessages {
	#count = 0;
	/** For the options of the connection. */
	readonly messageStrategy: MessageStrategy = {
		handleMessage: (message: Message, next: (message: Message) => void | Promise<void>) => {
			this.#count++;
			return next(message);
		},
	};

	/** Once the stream has ended: resolves when everything that came is handled. */
	async drained(): Promise<void> {
		for (let quiet = 0, count = this.#count; quiet < turns; quiet++) {
			await new Promise((resolve) => setImmediate(resolve));
			if (this.#count === count) continue;
			count = this.#count;
			quiet = 0;
		}
	}
}
