import { visibleLine } from '../../core/report/visibleText.ts';
import type { CheckStatus, DoctorReport } from '../../protocol/torchEnvironment.ts';

const words: Readonly<Record<CheckStatus, string>> = {
	ok: 'ok',
	warning: '**warning**',
	error: '**error**',
	unknown: 'unknown',
	absent: '–',
};

/** One sentence on what is wrong, or that nothing is. */
export function doctorSentence({ rows }: DoctorReport): string {
	const [errors, warnings] = (['error', 'warning'] as const).map((wanted) =>
		rows.filter(({ status }) => status === wanted),
	);
	const first = errors?.[0] ?? warnings?.[0];
	if (first === undefined) return 'The PyTorch engine is ready.';
	const more = (errors?.length ?? 0) + (warnings?.length ?? 0) - 1;
	const rest = more === 0 ? '' : ` ${more} more ${more === 1 ? 'problem' : 'problems'}.`;
	return `${first.check}: ${first.found.replace(/\.$/, '')}.${rest}`;
}

/** The report as a Markdown text. What programs have said stands as plain text. */
export function doctorText(report: DoctorReport): string {
	const { rows, seconds } = report;
	const todo = rows.filter(({ status, action }) => status !== 'ok' && status !== 'absent' && action !== null);
	const lines = ['# PyTorch engine', '', plain(doctorSentence(report)), ''];
	if (todo.length > 0) {
		lines.push(
			'## What to do',
			'',
			...todo.map(({ check, action }) => `- ${plain(check)}: ${plain(action ?? '')}`),
			'',
		);
	}
	lines.push('## What was found', '', '| Check | Status | Found | What to do |', '|---|---|---|---|');
	for (const { check, status, found, action } of rows) {
		lines.push(`| ${plain(check)} | ${words[status]} | ${plain(found)} | ${plain(action ?? '')} |`);
	}
	lines.push('', `Took ${seconds.toFixed(1)} s. What each row means: docs/pytorch-setup.md.`);
	return `${lines.join('\n')}\n`;
}

/** Text that Markdown takes for nothing else, in one line, and as readable as it can be in the source. */
function plain(text: string): string {
	const line = visibleLine(text).replace(/\|/g, '¦').replace(/`/g, "'").trim();
	// A viewer makes links of bare addresses, too, formulas of dollars, and characters of entities.
	return /[\\*_[\]<>!#~$&@]|:\/\/|www\./i.test(line) ? `\`${line}\`` : line;
}
