import { Disposable, type IDisposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { formatCount, formatCounted, formatDuration, formatNumber } from '../../src/base/format.ts';
import { clusterFindings, type FindingCluster } from '../../src/core/reward/audit/findingClusters.ts';
import type { ProbeOutcome } from '../../src/protocol/audit.ts';
import type { AuditContent } from '../../src/protocol/verificationMessages.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { numberCell, staticTable } from '../lib/staticTable.ts';
import { noTags, traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import { panel } from './panel.ts';
import type { Change, EvidenceAction, ResultsModel } from './resultsModel.ts';
import { outcomes, type SavedState } from './savedState.ts';
import { tagsOf } from './traceTags.ts';

type Finding = AuditContent['findings'][number];
type Evidence = Finding['evidence'][number];

const plurals: Partial<Record<ProbeOutcome['outcome'], string>> = { finding: 'findings', error: 'errors' };
const marks: Readonly<Record<ProbeOutcome['outcome'], string>> = { finding: '✗', held: '✓', skipped: '–', error: '!' };
const classes: Readonly<Record<ProbeOutcome['outcome'], string>> = {
	finding: 'wrong',
	held: 'right',
	skipped: '',
	error: 'warning',
};

/** Returns the number of probes per outcome. Pure. */
export function outcomeCounts(
	probes: readonly Pick<ProbeOutcome, 'outcome'>[],
): Record<ProbeOutcome['outcome'], number> {
	const counts = { held: 0, finding: 0, skipped: 0, error: 0 };
	for (const { outcome } of probes) counts[outcome]++;
	return counts;
}

/** Audit results: findings with evidence and suggested fixes, plus all probes. */
export class AuditView extends Disposable {
	readonly element: HTMLElement;
	readonly #model: ResultsModel;
	readonly #say: (text: string) => void;
	readonly #verdict = element('p', { class: 'verdict' });
	readonly #findings = element('div', { class: 'findings' });
	readonly #probes = element('div', { class: 'probes' });
	readonly #outcome;
	#bodies: IDisposable[] = [];

	constructor(model: ResultsModel, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#say = say;
		this.#outcome = dropdown({
			label: 'Outcome',
			showLabel: true,
			choices: outcomes.map((outcome) => ({ value: outcome, label: outcome === 'all' ? 'All' : outcome })),
			value: model.outcome,
			onChange: (outcome) => model.setOutcome(outcome as SavedState['outcome']),
		});
		this.register({ dispose: () => this.#forget() });
		this.element = element(
			'div',
			{ class: 'view' },
			this.#verdict,
			panel('Findings', null, this.#findings),
			panel('Probes', this.#outcome.element, this.#probes),
		);
	}

	update(changes: ReadonlySet<Change>): void {
		const { content } = this.#model;
		if (content?.view !== 'audit') return;
		if (changes.has('content')) {
			this.#drawVerdict(content);
			this.#drawFindings(content);
		}
		if (changes.has('probes')) this.#drawProbes(content);
	}

	#drawVerdict({ probes, rows, honest, durationMs }: AuditContent): void {
		const counts = outcomeCounts(probes);
		const parts = (['finding', 'held', 'skipped', 'error'] as const)
			.filter((outcome) => counts[outcome] > 0)
			.map((outcome) =>
				element(
					'span',
					{ class: `badge ${classes[outcome]}` },
					`${marks[outcome]} ${counts[outcome]} ${(counts[outcome] > 1 && plurals[outcome]) || outcome}`,
				),
			);
		const words =
			rows === 0
				? 'No rows to run probes on.'
				: `${formatCounted(probes.length, 'probe')} on ${formatCounted(rows, 'row')}; mean score of honest correct answers: ${formatNumber(honest, 3)}; ${formatDuration(durationMs / 1000)}.`;
		fill(this.#verdict, ...parts.flatMap((part) => [part, ' ']), element('span', { class: 'quiet' }, words));
	}

	#drawFindings({ findings, probes }: AuditContent): void {
		this.#forget();
		if (findings.length === 0) {
			const held = outcomeCounts(probes).held;
			const words =
				held === 0
					? 'No probe was applicable.'
					: `None of the ${formatCounted(held, 'applicable probe')} scored as high as an honest correct answer.`;
			fill(this.#findings, element('p', null, words));
			return;
		}
		const numbered = findings.map((finding, number) => ({ cause: finding.cause, finding, number }));
		fill(this.#findings, ...clusterFindings(numbered).map((cluster) => this.#cluster(cluster)));
	}

	/** Findings with a common cause: the worst one, with the others collapsed. */
	#cluster({ cause, findings }: FindingCluster<{ finding: Finding; number: number; cause: string }>): HTMLElement {
		const [example, ...others] = findings.map(({ finding, number }, i) => this.#finding(finding, number, i === 0));
		return element(
			'section',
			{ class: 'finding-cluster', aria: { label: plainLabel(cause) } },
			element(
				'h3',
				null,
				plainLabel(cause),
				' ',
				element('span', { class: 'quiet' }, formatCounted(findings.length, 'finding')),
			),
			example,
			others.length > 0 &&
				element(
					'details',
					{ class: 'more-findings' },
					element('summary', null, `${formatCounted(others.length, 'more finding')} with this cause`),
					element('div', { class: 'findings' }, ...others),
				),
		);
	}

	/** @param open whether to expand its clearest row initially */
	#finding(finding: Finding, number: number, open: boolean): HTMLElement {
		const { title, severity, rows, fooled, fix, evidence, probe } = finding;
		const holder = element('div', { class: 'evidence-list' });
		const draw = (index: number) => this.#evidence(evidence[index] as Evidence, { finding: number, index, title });
		const folded = [...evidence.keys()].slice(open ? 1 : 0);
		const label = formatCounted(folded.length, open ? 'more row' : 'row');
		const more = element('details', null, element('summary', null, label), holder);
		// Render text only when expanded.
		more.addEventListener('toggle', () => {
			if (more.open && holder.childElementCount === 0) holder.append(...folded.map(draw));
		});
		return element(
			'article',
			{ class: `finding severity-${severity}`, aria: { label: `${severity}: ${plainLabel(title)}` } },
			element(
				'header',
				null,
				element('span', { class: `badge severity ${severity}` }, severity),
				element('h4', null, plainLabel(title)),
				element('code', { class: 'quiet' }, plainLabel(probe, 80)),
			),
			element(
				'p',
				null,
				`Scored at least as high as an honest correct answer on ${formatCount(fooled)} of ${formatCounted(rows, 'row')}.`,
			),
			element('p', null, element('strong', null, 'Likely fix: '), plainLabel(fix, 1000)),
			open && evidence.length > 0 && draw(0),
			folded.length > 0 && more,
		);
	}

	#evidence(evidence: Evidence, at: { finding: number; index: number; title: string }): HTMLElement {
		const { prompt, answer, completion, size, value, honest, whole } = evidence;
		const act = (method: EvidenceAction, done: string) => () => {
			this.#model.actOnEvidence(method, at.finding, at.index).then(
				() => this.#say(done),
				(error: unknown) => this.#say(Failure.from(error).message),
			);
		};
		const added = element('p', { class: 'quiet added-case' });
		const addCase = () => {
			// Clicking again would add a duplicate case.
			add.setDisabled(true);
			this.#model.addCase(at.finding, at.index).then(
				({ file, line }) => {
					const words = `Added to ${plainLabel(file, 100)}, line ${line}`;
					setText(added, `${words}. Verify will now check this case.`);
					add.setLabel('Added');
					this.#say(words);
				},
				(error: unknown) => {
					const { message, action } = Failure.from(error);
					setText(added, plainLabel(action === undefined ? message : `${message} ${action}`, 500));
					this.#say(message);
					add.setDisabled(false);
				},
			);
		};
		const name = `row ${at.index + 1} of ${plainLabel(at.title, 60)}`;
		const add = button({
			label: 'Add to Cases',
			title: `Add ${name} to the labeled cases: the reward must score it lower than an honest correct answer`,
			onClick: addCase,
		});
		return element(
			'section',
			{ class: 'evidence', aria: { label: `Evidence, ${name}` } },
			element(
				'div',
				{ class: 'evidence-head' },
				element(
					'span',
					null,
					'scored ',
					element('strong', null, formatNumber(value, 4)),
					`, honest ${formatNumber(honest, 4)}`,
				),
				answer !== null && element('span', { class: 'quiet' }, `gold answer: ${plainLabel(answer, 120)}`),
				element('span', { class: 'spacer' }),
				whole && add.element,
				button({
					label: `Open ${name} as text`,
					icon: 'open',
					appearance: 'icon',
					onClick: act('openEvidence', 'Opened'),
				}).element,
				button({
					label: `Copy ${name}`,
					icon: 'copy',
					appearance: 'icon',
					onClick: act('copyEvidence', 'Completion copied'),
				}).element,
			),
			element(
				'p',
				{ class: 'evidence-prompt' },
				element('span', { class: 'quiet' }, 'Prompt: '),
				plainLabel(prompt, 400),
			),
			this.#text(completion, `Probe, ${name}`),
			added,
			size > completion.length &&
				element(
					'p',
					{ class: 'quiet' },
					`Showing the first ${formatCount(completion.length)} of ${formatCounted(size, 'character')}.`,
				),
		);
	}

	#text(text: string, label: string): HTMLElement {
		if (text === '') return element('p', { class: 'quiet' }, 'Empty completion.');
		const tags = tagsOf(text);
		const body = new TextBody({ label, trace: traceCompletion(text, tags), found: [], behaviors: tags !== noTags });
		this.#bodies.push(body);
		return element('div', { class: 'card-body' }, body.element);
	}

	#drawProbes({ probes }: AuditContent): void {
		const { outcome } = this.#model;
		this.#outcome.setValue(outcome);
		const shown = probes.filter((probe) => outcome === 'all' || probe.outcome === outcome);
		if (shown.length === 0) {
			fill(this.#probes, element('p', { class: 'quiet' }, 'No probes with this outcome.'));
			return;
		}
		fill(
			this.#probes,
			staticTable('plain-table probe-table', {
				caption: 'Probe outcomes',
				head: ['Outcome', 'Probe', 'Fooled', 'Why'],
				rows: shown.map(probeRow),
			}),
		);
	}

	#forget(): void {
		for (const body of this.#bodies) body.dispose();
		this.#bodies = [];
	}
}

function probeRow({ outcome, title, probe, rows, fooled, detail, error }: ProbeOutcome): HTMLElement {
	const why = error === undefined ? (detail ?? '') : error.message;
	return element(
		'tr',
		null,
		element('td', null, element('span', { class: `badge ${classes[outcome]}` }, `${marks[outcome]} ${outcome}`)),
		element('th', { title: plainLabel(probe, 80), attributes: { scope: 'row' } }, plainLabel(title)),
		numberCell(rows === 0 ? '–' : `${fooled} of ${rows}`),
		element('td', { class: 'why' }, plainLabel(why, 300)),
	);
}
