import { basename } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { indexViews } from '../../protocol/indexViews.ts';
import type { RolloutRef, TextHit } from '../../protocol/rolloutIndex.ts';
import { rolloutSplits } from '../../protocol/rolloutSplit.ts';
import type { RolloutIndex } from '../../rolloutIndex/rolloutIndex.ts';
import { quote } from '../answer.ts';
import * as input from '../inputs.ts';
import { noAddresses, queryAddresses } from '../queryAddresses.ts';
import type { KnownRun, Runs } from '../runs.ts';
import { defineTool } from '../tool.ts';

const timeoutMs = 20_000;
/** Maximum characters per text cell. Clients can call read_completion for the full text. */
const cellCharacters = 400;

const named = v.optional(
	input.described(
		v.pipe(v.array(v.pipe(v.string(), v.maxLength(4096))), v.minLength(1), v.maxLength(50)),
		'Run names. Default: the runs in the server folders. The index also keeps runs from earlier calls, so filter on the run column.',
	),
);

async function chosen(runs: Runs, names: readonly string[] | undefined): Promise<readonly KnownRun[]> {
	if (names !== undefined) return Promise.all(names.map((name) => runs.find(name)));
	const all = await runs.list();
	const within = all.filter((run) => run.within);
	if (within.length > 0 || all.length === 0) return within;
	throw new Failure(
		'missing',
		'There are no runs in the server folders.',
		'To list the runs that the user has opened elsewhere, call list_runs with all set. Pass their names in runs.',
	);
}

const addressOf = (known: readonly KnownRun[], { run, split, step, group, index }: RolloutRef): string | null => {
	const name = known.find(({ folder }) => folder === run)?.name;
	if (name === undefined) return null;
	return formatAddress({ kind: 'completion', run: name, split, step, group, completion: index, tokens: null });
};

export const query = defineTool({
	name: 'query',
	title: 'Query rollouts and metrics with SQL',
	description: `Run one read-only DuckDB SELECT on the rollout index views: ${indexViews.map(({ name }) => name).join(', ')}. "DESCRIBE rollouts" lists the columns of a view. Pages are consistent only if the statement has an ORDER BY without ties. A row gets an address if its columns identify data: run, split, step, group_id and index for a completion (without index, for a group); run, split and step for a step; run, step, name and value for a metric; run, step, name and accuracy for an evaluation. The first query on a run reads all of its rollouts, which can take minutes; pass runs to read only those.`,
	input: v.object({
		sql: input.text('SQL statement.', 20_000),
		runs: named,
		limit: input.limit(50),
		cursor: input.cursor,
	}),
	async run({ sql, runs: names, limit, cursor }, { runs, signal, progress }) {
		const known = await chosen(runs, names);
		const unread = await runs.updateIndex(known, { signal, progress });
		const [first] = unread;
		// Explicitly requested runs must be readable; otherwise, skip unreadable runs.
		if (names !== undefined && first !== undefined) throw first.failure;
		const index = await runs.index();
		const { columns, rows, truncated, refs, millis } = await index.sql(
			{ sql, limit, offset: cursor, timeoutMs },
			signal,
		);
		const all = await runs.list();
		const addresses =
			refs?.map((ref) => (ref === null ? null : addressOf(all, ref))) ??
			(await queryAddresses({ columns, rows }, index, all, signal));
		const isCited = addresses?.some((address) => address !== null);
		return {
			columns: columns.map(({ name, type }) => ({ name, type })),
			items: rows.map((row) => row.map((cell) => (typeof cell === 'string' ? quote(cell, cellCharacters) : cell))),
			...(isCited ? { addresses } : rows.length === 0 ? {} : { note: noAddresses }),
			...(truncated && rows.length > 0 ? { next_cursor: cursor + rows.length } : {}),
			...(await indexedRuns(index, known)),
			...(unread.length === 0
				? {}
				: { unread_runs: unread.slice(0, 20).map(({ run, failure }) => ({ run, problem: failure.toString() })) }),
			milliseconds: Math.round(millis),
		};
	},
});

/** Lists runs that are only partly indexed because an earlier call was canceled. */
async function indexedRuns(index: RolloutIndex, known: readonly KnownRun[]) {
	const { runs } = await index.status();
	const partial = runs.filter(({ state, rollouts }) => state !== 'ready' && rollouts > 0);
	const nameOf = (folder: string) => known.find((run) => run.folder === folder)?.name ?? basename(folder);
	return {
		indexed_runs: runs.filter(({ state }) => state === 'ready').length,
		...(partial.length === 0 ? {} : { partially_indexed_runs: partial.map(({ run }) => nameOf(run)) }),
	};
}

export const searchText = defineTool({
	name: 'search_text',
	title: 'Search completions',
	description:
		'Find completions that contain a string or match a regular expression. Returns the text around the first match, page by page. total is on the last page.',
	input: v.object({
		pattern: input.described(
			v.pipe(v.string(), v.minLength(1), v.maxLength(1000)),
			'String or regular expression to find.',
		),
		regex: v.optional(v.boolean(), false),
		case_sensitive: v.optional(v.boolean(), false),
		runs: named,
		split: v.optional(v.picklist(rolloutSplits)),
		from_step: v.optional(input.step),
		to_step: v.optional(input.step),
		limit: input.limit(20),
		cursor: input.cursor,
	}),
	async run({ pattern, regex, case_sensitive, runs: names, split, from_step, to_step, limit, cursor }, context) {
		const { runs, signal, progress } = context;
		const known = await chosen(runs, names);
		const index = await runs.index();
		const end = cursor + limit;
		const hits: TextHit[] = [];
		let count = 0;
		const filter = {
			runs: known.map(({ folder }) => folder),
			...(split === undefined ? {} : { split }),
			...(from_step === undefined && to_step === undefined
				? {}
				: {
						steps: {
							...(from_step === undefined ? {} : { from: from_step }),
							...(to_step === undefined ? {} : { to: to_step }),
						},
					}),
		};
		const outcome = await index.search(
			{ search: 'mcp', query: { pattern, regex, caseSensitive: case_sensitive }, filter, limit: end + 1 },
			({ hits: found, bytes, total }) => {
				// Hits arrive in rollout order; hits on other pages are not kept.
				hits.push(...found.slice(Math.max(0, cursor - count), Math.max(0, end - count)));
				count += found.length;
				progress(bytes, total, `Searching (${Math.floor((100 * bytes) / Math.max(1, total))}%)`);
			},
			signal,
		);
		return {
			complete: outcome.complete,
			// The first limit only means that the page is full.
			limits: outcome.limits.slice(count > end ? 1 : 0),
			...(count > end ? { next_cursor: end } : { total: count }),
			items: hits.map((hit) => ({
				address: addressOf(known, hit),
				step: hit.stepless ? null : hit.step,
				group: hit.group,
				completion: hit.index,
				matches: hit.count,
				around: quote(`${hit.before}${hit.match}${hit.after}`, cellCharacters),
			})),
		};
	},
});
