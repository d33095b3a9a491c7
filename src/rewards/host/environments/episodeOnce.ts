import process from 'node:process';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import { type CallReply, debuggedEpisodeSchema, type ResetReply } from '../../../protocol/environmentHost.ts';
import type { Capture } from '../capture.ts';
import { answerOnce } from '../debugged.ts';
import type { LocalImports } from '../localImports.ts';
import { EnvironmentServer } from './environmentServer.ts';

/**
 * Debugger mode: plays the episode in a file. The environment variable REASONING_LAB_TURN limits breakpoints to a turn:
 * "0" during the reset, then the 1-based turn number.
 */
export function playOnce(
	capture: Capture,
	imports: LocalImports,
	own: string,
	requestPath: string,
	replyPath: string,
): Promise<void> {
	return answerOnce(requestPath, replyPath, async (asked) => {
		const { load, reset, calls } = decodeOrThrow(debuggedEpisodeSchema, asked, 'The request');
		const server = new EnvironmentServer(capture, imports, own);
		await server.load(load);
		process.env.REASONING_LAB_TURN = '0';
		const started = await server.reset({ instance: 0, state: false, ...reset });
		const turns: CallReply[] = [];
		let last: Pick<ResetReply, 'error'> = started;
		for (const one of calls) {
			if (last.error !== undefined) break;
			process.env.REASONING_LAB_TURN = String(turns.length + 1);
			last = await server.call({ instance: 0, state: false, calls: one });
			turns.push(last as CallReply);
		}
		return { reset: started, turns, reward: null };
	});
}
