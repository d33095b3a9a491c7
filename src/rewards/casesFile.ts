import { basename, dirname, join } from 'node:path';
import { type ParsedCases, parseCases } from '../core/reward/verification/labeledCase.ts';
import { readHandWritten } from './handWrittenFile.ts';

export interface CasesFile extends ParsedCases {
	readonly file: string;
}

/**
 * Returns the path to the labeled cases, next to the reward: "rewards/brevity.reward.py" ->
 * "rewards/brevity.cases.jsonl".
 */
export function casesPath(rewardFile: string): string {
	return join(dirname(rewardFile), `${basename(rewardFile).replace(/(?:\.reward)?\.[^.]+$/, '')}.cases.jsonl`);
}

/** Reads labeled cases from a file. Fails with `missing`, `denied`, or `invalid` if it is not a case file. */
export async function readCases(file: string): Promise<CasesFile> {
	const action = 'Pass the file with --dataset instead, or split it.';
	return { file, ...parseCases(await readHandWritten(file, 'case file', action)) };
}
