/** What one trainer calls one metric. */
export interface TrainerName {
	/** As the trainer writes it; `{part}` stands for any text, which `canonical` repeats. */
	readonly name: string;
	/** The metric of the catalog. */
	readonly canonical: string;
	/** How its definition differs, as a sentence; absent: it does not. */
	readonly differs?: string;
	/** It differs so much that it is no value of the canonical metric and keeps its own name: the two are only akin. */
	readonly akin?: true;
	/** Which versions write it, in words; absent: the current ones. */
	readonly versions?: string;
}

/** The metrics of one trainer. */
export interface Trainer {
	/** The names of its formats (RunFormat.name), lower case, letters and digits alone. */
	readonly formats: readonly string[];
	/** For a person: "TRL". */
	readonly title: string;
	readonly names: readonly TrainerName[];
}

const own = (canonical: string, differs?: string): TrainerName => ({
	name: canonical,
	canonical,
	...(differs === undefined ? {} : { differs }),
});

/** Metrics that a trainer writes under their canonical names. */
export function sameNames(...canonical: readonly string[]): TrainerName[] {
	return canonical.map((name) => own(name));
}
