import { lstat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import { readResearch } from '../core/reflexion/research.ts';
import { researchReport } from '../core/reflexion/researchReport.ts';
import { readTreeLog } from './treeLogFile.ts';

/** Size limit: research logs have few nodes, so anything larger is a different type of search. */
const largest = 64 << 20;

/**
 * Returns the report from a research log. Fails with the same errors as `readTreeLog`, and with `unsupported` if the
 * log is not from an agent.
 */
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
		'Choose a log created by Research with Reflexion.',
	);
