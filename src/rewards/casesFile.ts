import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { type ParsedCases, parseCases } from '../core/reward/verification/labeledCase.ts';

/** Maximum size of a case file. Case files are written by hand. */
const largestCases = 16 << 20;

export interface CasesFile extends ParsedCases {
	readonly file: string;
}

/**
 * Returns the path of the labeled cases, next to the reward: "rewards/brevity.reward.py" ->
 * "rewards/brevity.cases.jsonl".
 */
export function casesPath(rewardFile: string): string {
	return join(dirname(rewardFile), `${basename(rewardFile).replace(/(?:\.reward)?\.[^.]+$/, '')}.cases.jsonl`);
}

/** Reads labeled cases from a file. Fails with `missing`, `denied`, or `invalid` if it is not a case file. */
export async function readCases(file: string): Promise<CasesFile> {
	const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the case file ${file}`);
	});
	try {
		const info = await handle.stat();
		if (!info.isFile())
			throw new Failure('invalid', `The case file ${file} is not a regular file.`, 'Use a JSONL file.');
		if (info.size > largestCases) {
			throw new Failure(
				'invalid',
				`The case file ${file} is ${info.size} bytes, which exceeds the limit of ${largestCases}.`,
				'Pass the file with --dataset instead, or split it.',
			);
		}
		return { file, ...parseCases(await handle.readFile('utf8')) };
	} finally {
		await handle.close();
	}
}
