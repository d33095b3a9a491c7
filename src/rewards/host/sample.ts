import { type PolicyTurn, policyTurns } from '../../core/reward/policyTurns.ts';
import { parseTrace } from '../../core/trace/parseTrace.ts';
import type { Trace, TraceTags } from '../../core/trace/trace.ts';
import type { ScoreRow } from '../../protocol/scorer.ts';
import type { RewardSample } from '../builtIns.ts';

/** A row whose completion is parsed when a reward first needs it. If it has messages, they determine the completion. */
class Sample implements RewardSample {
	readonly prompt: string;
	readonly completion: string;
	readonly answer: unknown;
	readonly row: ScoreRow['row'];
	readonly truncated: boolean | null;
	readonly completionIds?: readonly number[];
	readonly entropy?: number;
	readonly selfCertainty?: number;
	readonly messages?: NonNullable<ScoreRow['messages']>;
	readonly turns?: readonly PolicyTurn[];
	readonly #tags: TraceTags;
	#trace: Trace | undefined;

	constructor(row: ScoreRow, tags: TraceTags) {
		this.prompt = row.prompt;
		if (row.messages !== undefined) this.turns = policyTurns(row.messages.completion, tags);
		this.completion = this.turns === undefined ? row.completion : (this.turns.at(-1)?.completion ?? '');
		this.answer = row.answer;
		this.row = row.row;
		this.truncated = row.truncated;
		if (row.completionIds !== undefined) this.completionIds = row.completionIds;
		if (row.entropy !== undefined) this.entropy = row.entropy;
		if (row.selfCertainty !== undefined) this.selfCertainty = row.selfCertainty;
		if (row.messages !== undefined) this.messages = row.messages;
		this.#tags = tags;
	}

	get trace(): Trace {
		this.#trace ??= parseTrace(this.completion, this.#tags);
		return this.#trace;
	}
}

/** @param row as received; missing fields get the values of an empty row */
export function sampleOf(row: Partial<ScoreRow>, tags: TraceTags): RewardSample {
	return new Sample(
		{
			...row,
			prompt: row.prompt ?? '',
			completion: row.completion ?? '',
			answer: row.answer ?? null,
			row: row.row ?? {},
			truncated: row.truncated ?? null,
		},
		tags,
	);
}
