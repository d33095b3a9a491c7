import type { AbortSignalLike } from '../../../base/async.ts';
import { statedAnswers } from '../../../core/math/statedAnswer.ts';
import { policyTurns } from '../../../core/reward/policyTurns.ts';
import { messageText } from '../../../core/trace/messageText.ts';
import { parseTrace, soleAnswer } from '../../../core/trace/parseTrace.ts';
import { promptHash } from '../../../core/trace/promptHash.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import type { PromptRow } from '../../../protocol/explorerMessages.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { RolloutSplit, RunContent } from '../../../runs/runContent.ts';
import { correctness, finite, tokenCount } from './rolloutText.ts';
import { noBounds, type ScanBounds, type ScanCount, scanRun } from './runScan.ts';

/** Limits for scans without an index. A scan within these limits takes about ten seconds. */
const bounds: ScanBounds = { rollouts: 100_000, perStep: Number.POSITIVE_INFINITY };
const longestAnswer = 120;
/** Number of characters searched at the end of a completion, where a long completion states its answer. */
const lookedAt = 4000;
/** Maximum number of rollouts listed per prompt and step. */
export const maxListed = 2000;

/** Returns the answer stated in a completion, shortened, or null if none can be extracted. */
export function answerOf(completion: RolloutLine['completion'], tags: TraceTags): string | null {
	// As in rewards, a conversation's answer is in the policy's last message.
	const text = typeof completion === 'string' ? completion : (policyTurns(completion, tags).at(-1)?.completion ?? '');
	const shorten = (answer: string) =>
		answer.length > longestAnswer ? `${answer.slice(0, longestAnswer - 1)}…` : answer;
	const trace = parseTrace(text, tags);
	const sole = soleAnswer(trace, tags);
	if (sole !== null && sole.length <= longestAnswer) return sole;
	const end = (trace.answer ?? text).slice(-lookedAt);
	// If no answer is stated, `statedAnswers` returns the entire text, which does not count as an answer.
	const stated = statedAnswers(end).find((one) => one.trim() !== '' && one.trim() !== end.trim());
	if (stated !== undefined) return shorten(stated.trim());
	return sole === null ? null : shorten(sole);
}

export function emptyRow(step: number, group: number): PromptRow {
	return { step, group, index: [], reward: [], correct: [], truncated: [], length: [], answer: [] };
}

export function addToRow(row: PromptRow, rollout: RolloutLine, tags: TraceTags): void {
	row.index.push(rollout.index);
	row.reward.push(finite(rollout.reward));
	row.correct.push(correctness(rollout.rewards));
	row.truncated.push(rollout.truncated);
	row.length.push(tokenCount(rollout) ?? messageText(rollout.completion).length);
	row.answer.push(answerOf(rollout.completion, tags));
}

/** Finds all groups in a run that have the same prompt, step by step. @param onRow called after each complete group */
export async function scanPrompt(
	content: RunContent,
	of: { readonly split: RolloutSplit; readonly step: number; readonly prompt: RolloutLine['prompt'] },
	tags: TraceTags,
	all: boolean,
	count: ScanCount,
	onRow: (row: PromptRow) => void,
	signal: AbortSignalLike,
): Promise<void> {
	const wanted = promptHash(of.prompt);
	let groups = new Map<number, PromptRow>();
	const others = new Set<number>();
	await scanRun(
		content,
		of.split,
		all ? noBounds : bounds,
		of.step,
		(step, rollout) => {
			if (rollout === null) {
				for (const row of groups.values()) onRow(row);
				groups = new Map();
				others.clear();
				return;
			}
			let row = groups.get(rollout.group);
			if (row === undefined) {
				// All rollouts in a group have the same prompt, so checking one is enough.
				if (others.has(rollout.group)) return;
				if (promptHash(rollout.prompt) !== wanted) {
					others.add(rollout.group);
					return;
				}
				row = emptyRow(step, rollout.group);
				groups.set(rollout.group, row);
			}
			if (row.index.length < maxListed) addToRow(row, rollout, tags);
		},
		count,
		signal,
	);
}
