import { readFile, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import { type CallReply, debuggedEpisodeSchema, type ResetReply } from '../../../protocol/environmentHost.ts';
import type { Capture } from '../capture.ts';
import { LoadFault } from '../importFile.ts';
import type { LocalImports } from '../localImports.ts';
import { messageOf } from '../userFrames.ts';
import { EnvironmentServer } from './environmentServer.ts';

/**
 * Debugger mode: plays the episode in a file, then writes `{reply}` or `{failure}` to another file. Breakpoints can be
 * limited to a turn by the variable REASONING_LAB_TURN: "0" during the reset, then the number of the turn, from 1.
 */
export async function playOnce(
	capture: Capture,
	imports: LocalImports,
	own: string,
	requestPath: string,
	replyPath: string,
): Promise<void> {
	let outcome: object;
	try {
		const text = await readFile(requestPath, 'utf8');
		const { load, reset, calls } = decodeOrThrow(debuggedEpisodeSchema, JSON.parse(text), 'The request');
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
		outcome = { reply: { reset: started, turns, reward: null } };
	} catch (error) {
		const failure = error instanceof LoadFault ? error.data : { reason: 'internal', message: messageOf(error) };
		outcome = { failure };
	}
	await writeFile(replyPath, JSON.stringify(outcome));
}
