import { decodeOrThrow, type Schema } from '../../../protocol/decode.ts';
import {
	callRequestSchema,
	environmentLoadRequestSchema,
	instanceRequestSchema,
	environmentHostMethods as methods,
	playRequestSchema,
	resetRequestSchema,
} from '../../../protocol/environmentHost.ts';
import type { Capture } from '../capture.ts';
import type { LocalImports } from '../localImports.ts';
import { EnvironmentServer } from './environmentServer.ts';

/** Decodes requests to run an environment, and answers them. */
export class EnvironmentRequests {
	readonly #server: EnvironmentServer;

	constructor(capture: Capture, imports: LocalImports, own: string) {
		this.#server = new EnvironmentServer(capture, imports, own);
	}

	/** Rejects with LoadFault if the file cannot be loaded, and with Failure if the request is invalid. */
	async answer(method: (typeof methods)[keyof typeof methods], params: unknown): Promise<object> {
		const decoded = <T>(schema: Schema<T>) => decodeOrThrow(schema, params, `The request ${method}`);
		switch (method) {
			case methods.load:
				return await this.#server.load(decoded(environmentLoadRequestSchema));
			case methods.reset:
				return await this.#server.reset(decoded(resetRequestSchema));
			case methods.call:
				return await this.#server.call(decoded(callRequestSchema));
			case methods.reward:
				return await this.#server.reward(decoded(instanceRequestSchema));
			case methods.play:
				return await this.#server.play(decoded(playRequestSchema));
			case methods.end:
				return this.#server.end(decoded(instanceRequestSchema));
			case methods.rows:
				// Only environments from other libraries have rows, and those are written in Python.
				return { rows: [] };
		}
	}
}
