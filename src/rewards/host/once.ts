import { readFile, writeFile } from 'node:fs/promises';
import * as v from 'valibot';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { loadRequestSchema, scoreRequestSchema } from '../../protocol/rewardHost.ts';
import { LoadFault } from './importFile.ts';
import type { RewardServer } from './rewardServer.ts';
import { messageOf } from './userFrames.ts';

const requestSchema = v.object({ load: loadRequestSchema, score: scoreRequestSchema });

/**
 * Debugger mode: loads and scores the request in a file, then writes `{reply}` or `{failure}` to another file. Output
 * is not captured, so it appears in the debug console.
 */
export async function scoreOnce(server: RewardServer, requestPath: string, replyPath: string): Promise<void> {
	let outcome: object;
	try {
		const text = await readFile(requestPath, 'utf8');
		const request = decodeOrThrow(requestSchema, JSON.parse(text), 'The request');
		await server.load(request.load);
		outcome = { reply: await server.score(request.score, new AbortController().signal) };
	} catch (error) {
		const failure = error instanceof LoadFault ? error.data : { reason: 'internal', message: messageOf(error) };
		outcome = { failure };
	}
	await writeFile(replyPath, JSON.stringify(outcome));
}
