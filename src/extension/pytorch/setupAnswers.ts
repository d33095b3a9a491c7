import { knownExtras, type SetupExtra } from '../../environment/setup/requirements.ts';

/** Answers that a caller of *Set Up PyTorch Engine* gives in place of a person. */
export interface SetupAnswers {
	/** Install without asking. */
	readonly confirmed: boolean;
	/** undefined: as before, or none. */
	readonly extras: readonly SetupExtra[] | undefined;
	/** null: the best that is found. */
	readonly python: string | null;
	/** Another folder of requirement files; null: the trainer's own. */
	readonly requirements: string | null;
}

/** What a key binding or a link passes is checked here. */
export function setupAnswers(given: unknown): SetupAnswers {
	const { confirmed, extras, python, requirements } = (typeof given === 'object' ? (given ?? {}) : {}) as Record<
		string,
		unknown
	>;
	return {
		confirmed: confirmed === true,
		extras: Array.isArray(extras) ? knownExtras(extras) : undefined,
		python: typeof python === 'string' ? python : null,
		requirements: typeof requirements === 'string' ? requirements : null,
	};
}
