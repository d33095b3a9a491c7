import * as v from 'valibot';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { loadRequestSchema, scoreRequestSchema } from '../../protocol/rewardHost.ts';
import { answerOnce } from './debugged.ts';
import type { RewardServer } from './rewardServer.ts';

const requestSchema = v.object({ load: loadRequestSchema, score: scoreRequestSchema });

/** Debugger mode: loads and scores the request in a file. */
export function scoreOnce(server: RewardServer, requestPath: string, replyPath: string): Promise<void> {
	return answerOnce(requestPath, replyPath, async (asked) => {
		const request = decodeOrThrow(requestSchema, asked, 'The request');
		await server.load(request.load);
		return await server.score(request.score, new AbortController().signal);
	});
}
