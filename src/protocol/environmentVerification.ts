import * as v from 'valibot';
import { environmentDescriptionSchema } from './environmentHost.ts';
import { episodeSchema } from './episode.ts';

/** Statistics of one policy's episodes. */
export const policyStatisticsSchema = v.object({
	policy: v.string(),
	episodes: v.number(),
	/** Number of episodes that ended with an error. */
	failed: v.number(),
	/** Over episodes with a reward; null if there are none. */
	mean: v.nullable(v.number()),
	min: v.nullable(v.number()),
	max: v.nullable(v.number()),
	/** Number of episodes whose outcome is known, and how many of them succeeded. */
	judged: v.number(),
	successes: v.number(),
	maxTurns: v.number(),
});
export type PolicyStatistics = v.InferOutput<typeof policyStatisticsSchema>;

export const environmentFindingKinds = [
	'error',
	'blocks',
	'docstring',
	'types',
	'no-tools',
	'async-reset',
	'no-reward',
	'gold-fails',
	'no-effort',
	'not-deterministic',
	'leak',
	'range',
	'turn-rewards',
	'endless',
	'slow',
	'data',
	'labeled',
] as const;

export const environmentFindingSchema = v.object({
	kind: v.picklist(environmentFindingKinds),
	/** `error`: training would fail or learn the wrong thing; `warning`: may need attention; `information`: good to know. */
	level: v.picklist(['error', 'warning', 'information']),
	/** What is wrong, in one sentence. */
	message: v.string(),
	/** What to do. */
	action: v.optional(v.string()),
	/** 1-based line in the environment file, or in `file`. */
	line: v.number(),
	/** Absolute path of the file that contains the line, if it is not the environment file. */
	file: v.optional(v.string()),
	/** Zero-based index of the row where it first occurred. */
	row: v.optional(v.number()),
});
export type EnvironmentFinding = v.InferOutput<typeof environmentFindingSchema>;

/** Result of playing a labeled episode. */
export const labeledEpisodeSchema = v.object({
	/** Name. */
	label: v.string(),
	/** 1-based line in the file of labeled episodes. */
	line: v.number(),
	/** Difference from its label; null if there is none. */
	difference: v.nullable(
		v.object({
			message: v.string(),
			expected: v.exactOptional(v.string()),
			actual: v.exactOptional(v.string()),
			/** 1-based line in the environment file, if the episode failed there. */
			line: v.exactOptional(v.number()),
		}),
	),
	episode: episodeSchema,
});
export type LabeledResult = v.InferOutput<typeof labeledEpisodeSchema>;

/** Result of verifying an environment file. */
export const environmentVerificationSchema = v.object({
	file: v.string(),
	environment: environmentDescriptionSchema,
	/** Display name of the data; null if the environment was run on one row without columns. */
	dataset: v.nullable(v.string()),
	rows: v.number(),
	/** Number of rows with a solution. */
	solvable: v.number(),
	policies: v.array(policyStatisticsSchema),
	findings: v.array(environmentFindingSchema),
	/** Mean and 95th percentile of the time per turn, in milliseconds; null if there were no turns. */
	turnMs: v.nullable(v.object({ mean: v.number(), p95: v.number() })),
	durationMs: v.number(),
	/** Files that make the result outdated if they change. */
	files: v.array(v.string()),
	remarks: v.array(v.string()),
	episodes: v.array(episodeSchema),
	/** Labeled episodes, in file order. */
	labeled: v.array(labeledEpisodeSchema),
});
export type EnvironmentVerification = v.InferOutput<typeof environmentVerificationSchema>;
