import { Failure } from '../../../../base/failure.ts';
import { parseTokenizerJson } from '../../../../core/text/parseTokenizerJson.ts';
import type { Tokenizer } from '../../../../core/text/tokenizer.ts';
import type { ModelShape } from '../../../shared/modelShape.ts';
import { parameterCount, parameterSpecs } from '../../model/parameters.ts';
import { type StoredCheckpoint, storedParameters } from '../checkpointFolder.ts';
import type { ModelAndTokenizer } from '../modelAndTokenizer.ts';
import type { ImitationFiles } from './imitationFiles.ts';

/** A model to distill from. */
export interface Teacher {
	readonly shape: ModelShape;
	readonly parameters: Float32Array;
	/** One-sentence warning about this teacher and student, or null if there is none. */
	readonly warning: string | null;
}

/** Returns a checkpoint's tokenizer. */
export function tokenizerOf({ tokenizer, folder }: StoredCheckpoint): Tokenizer {
	return parseTokenizerJson(tokenizer, `${folder}/tokenizer.json`);
}

/**
 * Returns the teacher for each stage. Throws `mismatch` if a teacher's vocabulary differs from the student's, because
 * the same token id would then represent different symbols.
 */
export function teachersOf({ teachers }: ImitationFiles, student: ModelAndTokenizer): Map<number, Teacher> {
	return new Map([...teachers].map(([index, checkpoint]) => [index, teacherOf(checkpoint, student)]));
}

function teacherOf(checkpoint: StoredCheckpoint, student: ModelAndTokenizer): Teacher {
	const { folder, state } = checkpoint;
	const own = tokenizerOf(checkpoint).symbols;
	const { symbols } = student.tokenizer;
	if (own.length !== symbols.length || own.some((symbol, id) => symbol !== symbols[id])) {
		const place = Array.from({ length: Math.max(own.length, symbols.length) }, (_, id) => id).find(
			(id) => own[id] !== symbols[id],
		) as number;
		const quoted = (symbol: string | undefined) => (symbol === undefined ? 'none' : JSON.stringify(symbol));
		throw new Failure(
			'mismatch',
			`The vocabulary of teacher ${folder} differs from the student's: token ${place} is ${quoted(own[place])} in the teacher and ${quoted(symbols[place])} in the student.`,
			'Use a student with the same vocabulary (a new model inherits the vocabulary of its teacher), or train on completions from the teacher with "data".',
		);
	}
	const [taught, teaching] = [parameterCount(student.shape), parameterCount(state.shape)];
	return {
		shape: state.shape,
		parameters: storedParameters(checkpoint, parameterSpecs(state.shape)),
		warning:
			taught > teaching
				? `The student has ${taught} parameters and its teacher ${teaching}. The teacher must be the larger model.`
				: null,
	};
}
