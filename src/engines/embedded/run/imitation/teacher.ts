import { Failure } from '../../../../base/failure.ts';
import { parseTokenizerJson } from '../../../../core/text/parseTokenizerJson.ts';
import type { Tokenizer } from '../../../../core/text/tokenizer.ts';
import type { ModelShape } from '../../../shared/modelShape.ts';
import { parameterCount, parameterSpecs } from '../../model/parameters.ts';
import { type StoredCheckpoint, storedParameters } from '../checkpointFolder.ts';
import type { ModelAndTokenizer } from '../modelAndTokenizer.ts';
import type { ImitationFiles } from './imitationFiles.ts';

/** A model to distill. */
export interface Teacher {
	readonly shape: ModelShape;
	readonly parameters: Float32Array;
	/** A warning about the pair, in a sentence; null if there is none. */
	readonly warning: string | null;
}

/** The vocabulary of a checkpoint. */
export function tokenizerOf({ tokenizer, folder }: StoredCheckpoint): Tokenizer {
	return parseTokenizerJson(tokenizer, `${folder}/tokenizer.json`);
}

/**
 * The teachers of the stages. Throws `mismatch` if a vocabulary differs from that of the student, because tokens would
 * have different meanings.
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
		const told = (symbol: string | undefined) => (symbol === undefined ? 'none' : JSON.stringify(symbol));
		throw new Failure(
			'mismatch',
			`The vocabulary of the teacher ${folder} differs from that of the student: token ${place} is ${told(own[place])} in the teacher and ${told(symbols[place])} in the student.`,
			'Use a student with the same vocabulary (a new model takes that of its teacher), or imitate the completions of the teacher through "data".',
		);
	}
	const [taught, teaching] = [parameterCount(student.shape), parameterCount(state.shape)];
	return {
		shape: state.shape,
		parameters: storedParameters(checkpoint, parameterSpecs(state.shape)),
		warning:
			taught > teaching
				? `The student has ${taught} parameters and its teacher ${teaching}: the teacher must be the larger model.`
				: null,
	};
}
