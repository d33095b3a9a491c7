import { Failure } from '../base/failure.ts';
import { decode } from '../protocol/decode.ts';
import { parallelSchema } from '../protocol/pipeline.ts';
import { integer, type Options } from './options.ts';

/** Option for commands that start or resume a pipeline. */
export const parallelOption = {
	parallel: integer('N', 'Run up to N independent stages at once if there is enough memory.'),
} as const satisfies Options;

/** Returns the number of parallel stages as a pipeline option. Throws `invalid`. */
export function parallelOf(value: number | undefined): { readonly parallel?: number } {
	if (value === undefined) return {};
	if (decode(parallelSchema, value).ok) return { parallel: value };
	throw new Failure('invalid', `--parallel is ${value}.`, 'Use a number from 1 to 16.');
}
