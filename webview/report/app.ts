import { Disposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { formatCounted } from '../../src/base/format.ts';
import type { ReportCitation } from '../../src/protocol/reportMessages.ts';
import { button } from '../lib/controls.ts';
import { type Child, element, fill, setText, setTitle, unseen } from '../lib/dom.ts';
import { Redraw } from '../lib/frames.ts';
import { icon } from '../lib/icons.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { curveView } from './curveView.ts';
import { markdownView } from './markdownView.ts';
import { citationText, isProblem, type ReportModel } from './reportModel.ts';

interface Shown {
	readonly address: string;
	/** The link or chart caption; null in code. */
	readonly element: HTMLElement | null;
}

/**
 * Report view. Checks the citations against the data, and shows the result at each citation and in the header.
 */
export class App extends Disposable {
	readonly #model: ReportModel;
	readonly #name = element('h1');
	readonly #state = element('span', { class: 'quiet', role: 'status' });
	readonly #problems = element('ul', { class: 'problems', aria: { label: 'Citations with problems' }, hidden: true });
	readonly #article = element('article', { class: 'article' });
	/** Citations in text order, including those in code, which have no element. */
	#shown: Shown[] = [];
	#drawn: string | null = null;
	readonly #redraw = this.register(new Redraw(() => this.#render()));

	constructor(root: HTMLElement, model: ReportModel) {
		super();
		this.#model = model;
		root.append(
			element(
				'header',
				{ class: 'page-head' },
				element(
					'div',
					{ class: 'head-line' },
					this.#name,
					this.#state,
					element('span', { class: 'spacer' }),
					button({ label: 'Open Markdown', icon: 'open', onClick: () => model.host.post({ type: 'source' }) }).element,
				),
				this.#problems,
			),
			this.#article,
		);
		this.register(
			model.onChange((change) => {
				if (change === 'text') this.#drawn = null;
				this.#redraw.schedule();
			}),
		);
		this.#render();
	}

	#render(): void {
		const { name, text, missing } = this.#model;
		setText(this.#name, plainLabel(name === '' ? 'Report' : name, 200));
		if (missing !== null) {
			fill(this.#article, element('p', { class: 'notice', role: 'alert' }, missing));
		} else if (text !== null && text !== this.#drawn) {
			this.#drawn = text;
			this.#shown = [];
			fill(
				this.#article,
				...markdownView(text, {
					citation: (address, content) => this.#citation(address, content),
					chart: (address, title) => this.#chart(address, title),
					skipped: (address) => this.#shown.push({ address, element: null }),
				}),
			);
		}
		this.#renderChecks();
	}

	#citation(address: string, content: readonly Child[]): HTMLElement {
		const link = element(
			'button',
			{
				class: 'link citation',
				title: address,
				attributes: { type: 'button' },
				on: { click: () => this.#model.host.post({ type: 'open', address }) },
			},
			...content,
		);
		this.#shown.push({ address, element: link });
		return link;
	}

	#chart(address: string, title: string): HTMLElement {
		const drawing = element('div', { class: 'drawing' }, element('p', { class: 'quiet' }, 'Loading…'));
		const caption = this.#citation(address, [title === '' ? address : title]);
		void this.#model.host.request('curve', { address }).then(
			({ points }) =>
				fill(
					drawing,
					points.some(([, value]) => value !== null)
						? curveView(points, title)
						: element('p', { class: 'quiet' }, 'The metric has no values.'),
				),
			(error: unknown) => fill(drawing, element('p', { class: 'quiet' }, Failure.from(error).toString())),
		);
		return element('figure', { class: 'figure' }, drawing, element('figcaption', null, caption));
	}

	#renderChecks(): void {
		const { citations, unchecked, text } = this.#model;
		if (text === null || citations === null) {
			this.#problems.hidden = true;
			const state =
				unchecked === null ? (text === null ? 'Loading…' : 'Checking citations…') : `Not checked: ${unchecked}`;
			setText(this.#state, this.#model.missing === null ? state : '');
			return;
		}
		const wrong = citations.filter(isProblem);
		const count = formatCounted(citations.length, 'citation');
		setText(
			this.#state,
			citations.length === 0
				? 'No citations'
				: wrong.length === 0
					? `${count}, all matching the data`
					: `${count}, ${wrong.length} with problems`,
		);
		const elements = this.#mark(citations);
		this.#problems.hidden = wrong.length === 0;
		fill(
			this.#problems,
			...wrong.slice(0, 100).map((citation) =>
				element(
					'li',
					null,
					element(
						'button',
						{
							class: 'link',
							attributes: { type: 'button' },
							on: { click: () => show(elements.get(citation)) },
						},
						`Line ${citation.line}`,
					),
					`: ${plainLabel(citationText(citation), 400)}`,
				),
			),
		);
	}

	/** Marks each citation with its check result. The nth citation of an address gets the nth result for that address. */
	#mark(citations: readonly ReportCitation[]): Map<ReportCitation, HTMLElement> {
		const waiting = new Map<string, Shown[]>();
		for (const shown of this.#shown) {
			const list = waiting.get(shown.address);
			if (list) list.push(shown);
			else waiting.set(shown.address, [shown]);
		}
		const elements = new Map<ReportCitation, HTMLElement>();
		for (const citation of citations) {
			const link = waiting.get(citation.address)?.shift()?.element;
			if (!link) continue;
			elements.set(citation, link);
			const words = citationText(citation);
			setTitle(link, `${citation.address}\n${words}`);
			link.classList.toggle('wrong', isProblem(citation));
			for (const old of link.querySelectorAll('.check')) old.remove();
			const symbol = isProblem(citation) ? 'warning' : citation.status === 'ok' ? 'check' : null;
			if (symbol === null) continue;
			link.append(element('span', { class: 'check' }, icon(symbol), unseen(`: ${plainLabel(words, 400)}`)));
		}
		return elements;
	}
}

function show(link: HTMLElement | undefined): void {
	link?.scrollIntoView({ block: 'center' });
	link?.focus();
}
