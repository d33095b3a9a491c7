import { Failure } from '../../base/failure.ts';
import type { ModelShape } from '../shared/modelShape.ts';
import type { SampleRequest, Sequence } from './learner.ts';

/** Throws `invalid` if a prompt is empty or leaves no room in the context. */
export function checkPrompts({ context }: ModelShape, request: SampleRequest): void {
	if (request.seeds.length !== request.prompts.length) {
		throw new Failure(
			'invalid',
			`${request.prompts.length} prompts require the same number of seeds, but ${request.seeds.length} were given.`,
		);
	}
	for (const prompt of request.prompts) {
		if (prompt.length === 0) throw new Failure('invalid', 'A prompt has no tokens.');
		if (prompt.length < context) continue;
		throw new Failure(
			'invalid',
			`A prompt with ${prompt.length} tokens leaves no room in the model's context of ${context}.`,
			'Use a larger context or shorter prompts.',
		);
	}
}

/** Throws `invalid` if a sequence exceeds the context. */
export function checkLengths({ context }: ModelShape, rows: readonly Sequence[]): void {
	const longest = rows.reduce((n, row) => Math.max(n, row.tokens.length), 0);
	if (longest <= context) return;
	throw new Failure(
		'invalid',
		`A sequence with ${longest} tokens exceeds the model's context of ${context}.`,
		'Use a larger context or shorter data.',
	);
}
