import { Failure } from '../../base/failure.ts';
import { type ControlRequest, type ControlResult, controlExtensions, controlMethods } from '../../protocol/control.ts';
import { decode } from '../../protocol/decode.ts';
import type { PolicyAnswers } from '../shared/policyAnswers.ts';
import type { OrderExchange } from './orderExchange.ts';

/** `policy/generate` extensions that trainers support. */
export const trainerExtensions: readonly string[] = [controlExtensions.many, controlExtensions.distribution];

/** Maximum number of rows per request. Training pauses while a request is answered. */
const maxRows = 4096;

/** Runs a task while training is paused at a gate. */
export type PolicyAccess = <T>(task: () => Promise<T>) => Promise<T>;

/** `policy/generate` and `policy/score`, answered by the trainer between steps. */
export class TrainerPolicy implements PolicyAnswers {
	readonly extensions = trainerExtensions;
	readonly #orders: OrderExchange;
	readonly #access: PolicyAccess;

	constructor(orders: OrderExchange, access: PolicyAccess) {
		this.#orders = orders;
		this.#access = access;
	}

	async generate(
		request: ControlRequest<'policy/generate'>,
		signal?: AbortSignal,
	): Promise<ControlResult<'policy/generate'>> {
		const { n, maxTokens, seeds, prompts } = request;
		for (const [name, list] of Object.entries({ n, maxTokens, seeds })) {
			if (Array.isArray(list) && list.length !== prompts.length) {
				throw new Failure(
					'invalid',
					`policy/generate: "${name}" has ${list.length} entries for ${prompts.length} prompts.`,
				);
			}
		}
		checkRows(Array.isArray(n) ? n.reduce((sum, count) => sum + count, 0) : n * prompts.length);
		const value = await this.#access(() => {
			// The client has canceled the request.
			if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
			return this.#orders.give({ do: 'generate', params: { ...request } });
		});
		return result('policy/generate', value);
	}

	async score(request: ControlRequest<'policy/score'>): Promise<ControlResult<'policy/score'>> {
		const { prompts, completions } = request;
		if (prompts.length !== completions.length) {
			throw new Failure('invalid', `policy/score: ${prompts.length} prompts, but ${completions.length} completions.`);
		}
		checkRows(prompts.length);
		const value = await this.#access(() => this.#orders.give({ do: 'score', params: { ...request } }));
		return result('policy/score', value);
	}
}

function checkRows(rows: number): void {
	if (rows > maxRows)
		throw new Failure('invalid', `The request has ${rows} completions, which exceeds the limit of ${maxRows}.`);
}

function result<M extends 'policy/generate' | 'policy/score'>(method: M, value: unknown): ControlResult<M> {
	const decoded = decode(controlMethods[method].result as never, value) as
		| { readonly ok: true; readonly value: ControlResult<M> }
		| { readonly ok: false; readonly faults: readonly { readonly path: string; readonly message: string }[] };
	if (decoded.ok) return decoded.value;
	const fault = decoded.faults[0];
	throw new Failure('internal', `The trainer's response to ${method} is invalid at ${fault?.path}: ${fault?.message}.`);
}
