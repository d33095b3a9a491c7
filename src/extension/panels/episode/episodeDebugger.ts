import { basename } from 'node:path';
import * as vscode from 'vscode';
import { Failure } from '../../../base/failure.ts';
import { episodeOutcomeText, turnCondition, writeEpisodeDebugLaunch } from '../../../episodes/episodeDebugLaunch.ts';
import { readNamed } from '../../../files/safeFile.ts';
import type { EnvironmentDescription } from '../../../protocol/environmentHost.ts';
import type { EpisodeBranch } from '../../../protocol/episodeMessages.ts';
import { bodyLine } from '../../rewardTests/bodyLine.ts';
import { ensureBreakpoint, type HostDebugger } from '../../rewardTests/debugSession.ts';

/** Episode to debug, and the turn to stop in; 0 is the reset. */
export interface DebuggedTurn {
	readonly file: string;
	readonly environment: EnvironmentDescription;
	readonly branch: EpisodeBranch;
	readonly turn: number;
}

/**
 * Plays an episode up to a turn in the debugger, which stops in the tools that the turn calls. Resolves to the turn's
 * result, or null if the session ended first.
 * @param started called once the session is running
 */
export async function debugTurn(
	{ file, environment, branch, turn }: DebuggedTurn,
	host: HostDebugger,
	started: () => void,
): Promise<string | null> {
	const { columns, seed, turns } = branch;
	const calls = turns.slice(0, turn).map((one) => one.calls);
	const called = turn === 0 ? ['reset'] : [...new Set(calls.at(-1)?.map(({ name }) => name))];
	const lines = bodyLines((await readNamed(file)).toString('utf8'), file, environment, called);
	if (lines.length === 0) {
		throw new Failure(
			'invalid',
			`${basename(file)} does not define ${called.join(', ')}, so the debugger has nowhere to stop.`,
		);
	}
	const marks: vscode.Breakpoint[] = [];
	const launch = await writeEpisodeDebugLaunch({ file, row: columns, seed, calls });
	try {
		for (const line of lines) {
			const mark = ensureBreakpoint(file, line, turnCondition(file, turn));
			if (mark !== null) marks.push(mark);
		}
		const name = turn === 0 ? 'Debug reset' : `Debug turn ${turn}`;
		await host.run({ file, name, args: launch.args }, started);
		const outcome = await launch.outcome();
		return outcome === null ? null : episodeOutcomeText(outcome);
	} finally {
		vscode.debug.removeBreakpoints(marks);
		await launch.remove();
	}
}

/**
 * Returns the 0-based line number of the first line of code in each method. Methods that the file does not define are
 * omitted.
 */
export function bodyLines(
	text: string,
	file: string,
	{ tools, places }: EnvironmentDescription,
	called: readonly string[],
): number[] {
	const language = file.endsWith('.py') ? 'python' : 'script';
	return called.flatMap((name) => {
		const place = name === 'reset' ? places.reset : tools.find((tool) => tool.name === name)?.location;
		return place == null ? [] : [bodyLine(text, { endLine: place.endLine - 1 }, language)];
	});
}
