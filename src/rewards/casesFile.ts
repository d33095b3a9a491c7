import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { type ParsedCases, parseCases } from '../core/reward/verification/labeledCase.ts';

/** Written by hand. */
const largestCases = 16 << 20;

export interface CasesFile extends ParsedCases {
	readonly file: string;
}

/** "rewards/brevity.reward.py" -> "rewards/brevity.cases.jsonl": the labeled cases are next to the reward. */
export function casesPath(rewardFile: string): string {
	return join(dirname(rewardFile), `${basename(rewardFile).replace(/(?:\.reward)?\.[^.]+$/, '')}.cases.jsonl`);
}

/** The labeled cases of a file. Fails with `missing`, `denied`, or `invalid` for what is not a file of cases. */
export async function readCases(file: string): Promise<CasesFile> {
	const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the cases ${file}`);
	});
	try {
		const info = await handle.stat();
		if (!info.isFile()) throw new Failure('invalid', `The cases ${file} are not a file.`, 'Use a JSONL file.');
		if (info.size > largestCases) {
			throw new Failure(
				'invalid',
				`The cases ${file} have ${info.size} bytes, more than the limit of ${largestCases}.`,
				'Pass such a file with --dataset, or split it.',
			);
		}
		return { file, ...parseCases(await handle.readFile('utf8')) };
	} finally {
		await handle.close();
	}
}
