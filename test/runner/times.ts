/** The table of `npm test -- --times`: wall time and CPU time by phase, program type and file. */

export interface TimesRow {
	readonly phase: string;
	readonly name: string;
	readonly wall: number;
	/** Undefined if not measured. */
	readonly processor: number | undefined;
}

export interface Times {
	readonly rows: readonly TimesRow[];
	/** CPU seconds by program type. */
	readonly kinds: ReadonlyMap<string, number>;
	/** CPU seconds of the browser shared by all tests. */
	readonly browserSeconds: number | undefined;
	/** CPU seconds of the runner itself. */
	readonly runnerSeconds: number;
	readonly wallSeconds: number;
}

const seconds = (value: number | undefined): string => (value === undefined ? 'unknown' : value.toFixed(1));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Formats the table as Markdown: totals and phases first, then all files, slowest first. */
export function timesText({ rows, kinds, browserSeconds, runnerSeconds, wallSeconds }: Times): string {
	const phases = [...new Set(rows.map(({ phase }) => phase))];
	const total = sum([...kinds.values()]) + runnerSeconds;
	const phaseRows = phases.map((phase) => {
		const own = rows.filter((row) => row.phase === phase);
		const known = own.flatMap(({ processor }) => (processor === undefined ? [] : [processor]));
		const processor = known.length === 0 ? 'unknown' : seconds(sum(known));
		return `| ${phase} | ${own.length} | ${seconds(sum(own.map(({ wall }) => wall)))} | ${processor} |`;
	});
	const kindRows = [...kinds].map(([kind, value]) => `| ${kind} | ${seconds(value)} |`);
	const fileRows = [...rows]
		.sort((a, b) => b.wall - a.wall)
		.map(({ phase, name, wall, processor }) => `| ${phase} | ${name} | ${seconds(wall)} | ${seconds(processor)} |`);
	return [
		`${seconds(wallSeconds)} s wall, ${seconds(total)} s of CPU time.`,
		'',
		'| phase | files | wall s, added up | CPU s |',
		'|---|---|---|---|',
		...phaseRows,
		...(browserSeconds === undefined ? [] : [`| the shared browser | | | ${seconds(browserSeconds)} |`]),
		'',
		'| program | CPU s |',
		'|---|---|',
		...kindRows,
		`| runner | ${seconds(runnerSeconds)} |`,
		'',
		'## Files',
		'',
		'| phase | file | wall s | CPU s |',
		'|---|---|---|---|',
		...fileRows,
		'',
	].join('\n');
}
