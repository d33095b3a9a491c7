import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../../base/async.ts';
import type { ReportedSearch } from '../../core/report/reportedRun.ts';
import { factsOfTree } from '../../core/search/formats/factsOfTree.ts';
import { SearchTree } from '../../core/search/searchTree.ts';
import { fileLines } from '../../files/fileLines.ts';
import { readTreeEvent } from '../../protocol/treeEventReader.ts';
import { runFiles } from '../runFiles.ts';
import { readSearchSummary, searchLogEnding, searchLogsIn } from '../searchLog.ts';

/** Maximum number of logs to report, bytes per log, and steps per best path. */
const limits = { searches: 5, bytes: 64 << 20, path: 60 } as const;

/** Reads the newest searches of a run. For logs over 64 MB, only the start and the end are read. */
export async function readReportedSearches(run: string, signal?: AbortSignalLike): Promise<ReportedSearch[]> {
	const searches: ReportedSearch[] = [];
	for (const log of await searchLogsIn(join(run, runFiles.searches))) {
		checkAborted(signal);
		if (searches.length >= limits.searches) break;
		const summary = await readSearchSummary(log).catch(() => null);
		if (summary === null) continue;
		const { start, end } = summary;
		const tree = new SearchTree();
		if ((await lstat(log)).size <= limits.bytes) {
			for await (const value of fileLines(dirname(log), basename(log))) {
				const event = readTreeEvent(value);
				if (event !== null) tree.apply(event);
			}
		}
		const { nodes, depth, best } = factsOfTree(tree);
		searches.push({
			name: basename(log, searchLogEnding),
			strategy: start.strategy,
			policy: start.policy.name,
			problem: start.problem.prompt,
			nodes: Math.max(nodes, summary.nodes ?? 0),
			depth,
			stop: end?.stop ?? null,
			answer: end?.answer ?? null,
			correct: end?.correct ?? null,
			tokens: end?.tokens ?? null,
			best:
				best === null
					? null
					: {
							value: best.value,
							texts: best.path.slice(1, limits.path).map((id) => tree.node(id)?.text ?? ''),
						},
		});
	}
	return searches;
}
