/** A trainer's name for a metric. */
export interface TrainerName {
	/** Name as written by the trainer. `{part}` matches any text and is repeated in `canonical`. */
	readonly name: string;
	/** Catalog metric that the name refers to. */
	readonly canonical: string;
	/** Sentence that explains how the definition differs. Absent if it does not. */
	readonly differs?: string;
	/** Set if the definition differs so much that the metric keeps its own name instead of the canonical one. */
	readonly akin?: true;
	/** Description of the versions that write the name. Absent for current versions. */
	readonly versions?: string;
}

/** Metrics of one trainer. */
export interface Trainer {
	/** The trainer's format names (RunFormat.name), in lowercase, with letters and digits only. */
	readonly formats: readonly string[];
	/** Display name, such as "TRL". */
	readonly title: string;
	readonly names: readonly TrainerName[];
}

const own = (canonical: string, differs?: string): TrainerName => ({
	name: canonical,
	canonical,
	...(differs === undefined ? {} : { differs }),
});

/** Lists metrics that a trainer writes under their canonical names. */
export function sameNames(...canonical: readonly string[]): TrainerName[] {
	return canonical.map((name) => own(name));
}
