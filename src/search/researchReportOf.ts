import { lstat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import { readResearch } from '../core/reflexion/research.ts';
import { researchReport } from '../core/reflexion/researchReport.ts';
import { readTreeLog } from './treeLogFile.ts';

/** A research has few nodes: what is larger is another search. */
const largest = 64 << 20;

/** The report of a research out of its log. Fails as `readTreeLog`, with `unsupported` where it is no log of an agent. */
export async function researchReportOf(
	log: string,
): Promise<{ readonly markdown: string; readonly reason: string; readonly answered: boolean }> {
	const info = await lstat(log).catch(() => null);
	if (info !== null && info.size > largest) throw notResearch(log);
	const { events, tree } = await readTreeLog(log);
	if (tree.start?.strategy !== 'reflexion') throw notResearch(log);
	const research = readResearch(events);
	return { markdown: researchReport(research), reason: research.reason, answered: research.result !== null };
}

const notResearch = (log: string): Failure =>
	new Failure(
		'unsupported',
		`${basename(log)} is not a research log.`,
		'Choose one created by Research with Reflexion.',
	);
