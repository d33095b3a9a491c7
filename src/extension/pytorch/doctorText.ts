import { formatCounted } from '../../base/format.ts';
import { visibleLine } from '../../core/report/visibleText.ts';
import type { CheckStatus, DoctorReport } from '../../protocol/torchEnvironment.ts';

const words: Readonly<Record<CheckStatus, string>> = {
	ok: 'ok',
	warning: '**warning**',
	error: '**error**',
	unknown: 'unknown',
	absent: '–',
};

/** Summarizes the problems in one sentence, or says that there are none. */
export function doctorSentence({ rows }: DoctorReport): string {
	const [errors, warnings] = (['error', 'warning'] as const).map((wanted) =>
		rows.filter(({ status }) => status === wanted),
	);
	const first = errors?.[0] ?? warnings?.[0];
	if (first === undefined) return 'The PyTorch engine is ready.';
	const more = (errors?.length ?? 0) + (warnings?.length ?? 0) - 1;
	const rest = more === 0 ? '' : ` ${formatCounted(more, 'more problem')}.`;
	return `${first.check}: ${first.found.replace(/\.$/, '')}.${rest}`;
}

/** Returns the report as Markdown. Output from other programs is escaped. */
export function doctorText(report: DoctorReport): string {
	const { rows, seconds } = report;
	const todo = rows.filter(({ status, action }) => status !== 'ok' && status !== 'absent' && action !== null);
	const lines = ['# PyTorch engine', '', plain(doctorSentence(report)), ''];
	if (todo.length > 0) {
		lines.push(
			'## Recommended actions',
			'',
			...todo.map(({ check, action }) => `- ${plain(check)}: ${plain(action ?? '')}`),
			'',
		);
	}
	lines.push('## Results', '', '| Check | Status | Details | Action |', '|---|---|---|---|');
	for (const { check, status, found, action } of rows) {
		lines.push(`| ${plain(check)} | ${words[status]} | ${plain(found)} | ${plain(action ?? '')} |`);
	}
	lines.push('', `Completed in ${seconds.toFixed(1)} s. The checks are described in docs/pytorch-setup.md.`);
	return `${lines.join('\n')}\n`;
}

/** Escapes text for Markdown, on one line, keeping the source as readable as possible. */
function plain(text: string): string {
	const line = visibleLine(text).replace(/\|/g, '¦').replace(/`/g, "'").trim();
	// Markdown viewers also turn bare URLs into links, dollar signs into formulas, and entities into characters.
	return /[\\*_[\]<>!#~$&@]|:\/\/|www\./i.test(line) ? `\`${line}\`` : line;
}
