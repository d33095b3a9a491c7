import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../base/failure.ts';
import { type FileFacts, factsReplySchema } from '../core/reward/export/rewardFacts.ts';
import { decodeOrThrow } from '../protocol/decode.ts';

const run = promisify(execFile);
const limitMs = 20_000;

/**
 * Returns facts about a Python reward file, based on its source. Python parses the file but does not execute it.
 * @param folder host program folder: `rewardHostFolder()`, the extension's dist
 * @throws `unavailable` if Python is not available, `invalid` if the file cannot be parsed
 */
export async function readRewardFacts(
	file: string,
	python: string,
	folder: string,
	signal?: AbortSignal,
): Promise<FileFacts> {
	let printed: string;
	try {
		const options = { timeout: limitMs, maxBuffer: 16 << 20, ...(signal ? { signal } : {}) };
		printed = (await run(python, ['-I', join(folder, 'python', 'reward_facts.py'), file], options)).stdout;
	} catch (error) {
		if (signal?.aborted) throw new Failure('cancelled', 'The export was canceled.');
		if ((error as { code?: unknown }).code === 'ENOENT') {
			throw new Failure(
				'unavailable',
				`Cannot find Python "${python}".`,
				'Set the path with --python or in the reasoningLab.rewards.python setting.',
				{ cause: error },
			);
		}
		const said = String((error as { stderr?: unknown }).stderr ?? '')
			.trim()
			.split('\n')
			.at(-1);
		throw new Failure('invalid', `Cannot read ${file}: ${said || Failure.from(error).message}`);
	}
	const reply = decodeOrThrow(factsReplySchema, JSON.parse(printed), `The description of ${file}`);
	if ('error' in reply) {
		const { line, message } = reply.error;
		throw new Failure('invalid', `${file}${line === null ? '' : `:${line}`}: ${message}.`, 'Fix the file first.');
	}
	return reply;
}
