import { formatCount, formatCounted, formatPercent } from '../base/format.ts';
import type { ComparisonSummary, Interval, PointSummary } from '../protocol/strategyComparison.ts';

const share = (value: number) => value.toFixed(3);
const signed = (value: number) => `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(3)}`;
const range = ({ low, high }: Interval, form: (value: number) => string) => `[${form(low)}, ${form(high)}]`;
const amount = (value: number | null) => (value === null ? '-' : value >= 100 ? value.toFixed(0) : value.toFixed(1));

/** Formats a comparison as text: a table with one row per point, then the bands, then the conclusions. */
export function comparisonLines(summary: ComparisonSummary): string[] {
	const { points, problems, samples, bands, environment } = summary;
	const played = environment === undefined ? '' : ` played in ${environment}`;
	const bandHeads = bands.map((_, i) => `band ${i + 1}`);
	const head = ['strategy', 'point', 'accuracy', '95%', 'gain', '95%', 'best of', 'tokens', 's', ...bandHeads];
	const rows = points.map(rowOf);
	return [
		`${summary.name}: ${formatCounted(problems, 'problem')}${played}, policy ${summary.policy}; gains are relative to the mean of ${samples} independent samples`,
		...table([head, ...rows]),
		...bandLines(summary),
		...claimLines(summary),
	];
}

function rowOf(point: PointSummary): string[] {
	const { name, label, accuracy, gain, any, tokens, seconds, oracle } = point;
	return [
		oracle ? `${name} (oracle upper bound)` : name,
		label,
		accuracy === null ? '-' : share(accuracy.mean),
		accuracy === null ? '' : range(accuracy, share),
		gain === null ? '' : signed(gain.mean),
		gain === null ? '' : range(gain, signed),
		any === null ? '' : share(any),
		amount(tokens),
		amount(seconds),
		...point.bands.map((band) => (band.accuracy === null ? '-' : share(band.accuracy.mean))),
	];
}

/**
 * Formats a table with the first two columns left-aligned, the rest right-aligned, and columns as narrow as possible.
 */
function table(rows: readonly (readonly string[])[]): string[] {
	const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? '').length)));
	return rows.map((row) =>
		row
			.map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
			.join('  ')
			.trimEnd(),
	);
}

function bandLines({ bands }: ComparisonSummary): string[] {
	if (bands.length === 0) return [];
	const lines = bands.map(
		({ problems, low, high }, i) => `${i + 1}: ${problems} at ${formatPercent(low, 0)} to ${formatPercent(high, 0)}`,
	);
	return [`difficulty bands (success rate of additional independent samples): ${lines.join('; ')}`];
}

function claimLines({ points, state, done, total, message, failures, environment }: ComparisonSummary): string[] {
	const lines: string[] = [];
	const claims = points.filter(({ oracle, gain }) => !oracle && gain !== null);
	const shown = (of: readonly PointSummary[]) => of.map(({ name, label }) => `${name} ${label}`).join(', ');
	const better = claims.filter(({ gain }) => (gain?.low ?? 0) > 1e-9);
	const worse = claims.filter(({ gain }) => (gain?.high ?? 0) < -1e-9);
	if (better.length > 0) lines.push(`better than a single sample: ${shown(better)}`);
	if (worse.length > 0) lines.push(`worse than a single sample: ${shown(worse)}`);
	const open = claims.length - better.length - worse.length;
	if (open > 0) lines.push(`no significant difference from a single sample: ${open} of ${claims.length}`);
	if (points.some(({ oracle }) => oracle))
		lines.push(
			environment === undefined
				? 'oracle upper bounds use the gold answer and are not achievable results'
				: "oracle upper bounds use the environment's reward, which may not be available in practice",
		);
	const failed = points.filter(({ failed }) => failed > 0);
	if (failed.length > 0) {
		lines.push(`failed (excluded): ${failed.map(({ name, failed }) => `${failed} of ${name}`).join(', ')}`);
		for (const { message: why, count } of failures) lines.push(`  ${count}: ${why}`);
	}
	const unjudged = Math.max(0, ...points.map(({ unjudged }) => unjudged));
	const absent = environment === undefined ? 'no gold answer' : 'no reward';
	if (unjudged > 0) lines.push(`excluded (${absent}): ${formatCounted(unjudged, 'problem')}`);
	if (state !== 'ended')
		lines.push(
			`${state} after ${formatCount(done)} of ${formatCounted(total, 'search', 'searches')}${message === null ? '' : `: ${message}`}`,
		);
	return lines;
}
