import type { Message, MessageStrategy } from 'vscode-jsonrpc/node';

/** Number of event loop turns between receiving and handling a message, with a safety margin. */
const turns = 10;

/**
 * Tracks which messages a connection has handled. Decoding and handling a message takes several turns of the event
 * loop, so the stream can end while the last messages, possibly including a response, are still waiting.
 */
export class HandledMessages {
	#count = 0;
	/** Message strategy for the connection options. */
	readonly messageStrategy: MessageStrategy = {
		handleMessage: (message: Message, next: (message: Message) => void | Promise<void>) => {
			this.#count++;
			return next(message);
		},
	};

	/** Resolves when everything received has been handled. Call it after the stream has ended. */
	async drained(): Promise<void> {
		for (let quiet = 0, count = this.#count; quiet < turns; quiet++) {
			await new Promise((resolve) => setImmediate(resolve));
			if (this.#count === count) continue;
			count = this.#count;
			quiet = 0;
		}
	}
}
