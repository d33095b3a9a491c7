import { knownExtras, type SetupExtra } from '../../environment/setup/requirements.ts';

/** Answers provided by a caller of *Set Up PyTorch Engine* to skip the prompts. */
export interface SetupAnswers {
	/** Whether to install without confirmation. */
	readonly confirmed: boolean;
	/** Optional packages; undefined keeps the current ones, if any. */
	readonly extras: readonly SetupExtra[] | undefined;
	/** Python interpreter to use; null selects the best one available. */
	readonly python: string | null;
	/** Folder with custom requirements files; null to use the trainer's own. */
	readonly requirements: string | null;
}

/** Validates the argument, which can come from a key binding or a link. */
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
