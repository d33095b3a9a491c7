import { formatNumber } from '../../src/base/format.ts';
import { nodeRoles } from '../../src/protocol/treeLog.ts';
import { element, fill } from '../lib/dom.ts';
import { checkMark, crossMark, nodeShapes, roleNames } from './draw/nodeShapes.ts';
import type { Palette } from './draw/palette.ts';
import { mark, type Scene } from './draw/scene.ts';
import { coloringNames, coloringWords } from './nodeMeasures.ts';

const namespace = 'http://www.w3.org/2000/svg';

function symbol(
	parts: readonly { d: string; fill?: string; stroke?: string; scale?: number; dash?: string }[],
): SVGElement {
	const svg = document.createElementNS(namespace, 'svg');
	svg.setAttribute('viewBox', '-2.2 -2.2 4.4 4.4');
	svg.setAttribute('class', 'legend-symbol');
	svg.setAttribute('aria-hidden', 'true');
	for (const { d, fill: inside, stroke, scale = 1, dash } of parts) {
		const path = document.createElementNS(namespace, 'path');
		path.setAttribute('d', d);
		path.setAttribute('fill', inside ?? 'none');
		path.setAttribute('stroke', stroke ?? 'none');
		path.setAttribute('stroke-width', String(0.3 / scale));
		if (dash !== undefined) path.setAttribute('stroke-dasharray', dash);
		path.setAttribute('transform', `scale(${scale})`);
		svg.append(path);
	}
	return svg;
}

/** Legend for the colors, shapes and marks that occur in the tree. */
export class Legend {
	readonly element = element('div', { class: 'legend', role: 'group', aria: { label: 'Legend' } });
	#key = '';

	update(scene: Scene, palette: Palette): void {
		const { coloring, range, tree, marks } = scene;
		let all = 0;
		for (const bits of marks) all |= bits;
		const present = new Set(tree.nodes.map(({ role }) => role));
		const roles = nodeRoles.filter((role) => present.has(role));
		const key = JSON.stringify([coloring, range, all, roles, palette.theme.kind, palette.theme.background]);
		if (key === this.#key) return;
		this.#key = key;
		const { foreground } = palette.theme;
		const item = (picture: SVGElement, words: string): HTMLElement =>
			element('span', { class: 'legend-item' }, picture, words);
		const items: HTMLElement[] = [];
		if (coloring !== 'role') items.push(this.#scale(scene, palette));
		if (roles.length > 1 || coloring === 'role') {
			for (const role of roles) {
				items.push(
					item(
						symbol([
							{
								d: nodeShapes[role],
								fill: coloring === 'role' ? palette.roles[role].css : 'none',
								stroke: foreground,
							},
						]),
						roleNames[role],
					),
				);
			}
		}
		const circle = nodeShapes.thought;
		const has = (bit: number): boolean => (all & bit) !== 0;
		if (has(mark.best)) items.push(item(symbol([{ d: 'M-2,0H2', stroke: palette.best.css, scale: 1 }]), 'Best path'));
		if (has(mark.final))
			items.push(
				item(
					symbol([
						{ d: circle, stroke: foreground },
						{ d: circle, stroke: foreground, scale: 1.7 },
					]),
					'Terminal',
				),
			);
		if (has(mark.right)) items.push(item(symbol([{ d: checkMark, stroke: palette.right.css, scale: 1.6 }]), 'Correct'));
		if (has(mark.wrong))
			items.push(item(symbol([{ d: crossMark, stroke: palette.wrong.css, scale: 1.3 }]), 'Incorrect'));
		if (has(mark.pruned))
			items.push(
				item(
					symbol([
						{ d: circle, stroke: palette.none.css, scale: 1.4 },
						{ d: crossMark, stroke: palette.wrong.css, scale: 1.2 },
					]),
					'Pruned',
				),
			);
		if (has(mark.merged))
			items.push(item(symbol([{ d: circle, stroke: foreground, scale: 1.5, dash: '0.5 0.5' }]), 'Merged'));
		if (has(mark.person)) items.push(item(symbol([{ d: circle, fill: palette.person.css }]), 'Added by user'));
		if (has(mark.same)) {
			items.push(item(symbol([{ d: circle, stroke: palette.accent.css, scale: 1.8 }]), 'Same answer'));
		}
		if (has(mark.hit)) items.push(item(symbol([{ d: circle, stroke: palette.hit.css, scale: 1.8 }]), 'Search match'));
		fill(this.element, ...items);
	}

	/** Draws the color scale as a canvas image, because its colors come from the theme. */
	#scale({ coloring, range }: Scene, palette: Palette): HTMLElement {
		if (coloring === 'role') return element('span');
		const name = coloringNames[coloring];
		if (range === null) return element('span', { class: 'legend-item quiet' }, `${name}: no values`);
		const canvas = element('canvas', {
			class: 'legend-ramp',
			role: 'img',
			attributes: { width: palette.ramp.length, height: 1 },
			aria: { label: `Colors from ${formatNumber(range.min, 3)} to ${formatNumber(range.max, 3)}` },
		});
		const context = canvas.getContext('2d');
		palette.ramp.forEach(({ css }, i) => {
			if (context === null) return;
			context.fillStyle = css;
			context.fillRect(i, 0, 1, 1);
		});
		const show = (value: number): string =>
			coloring === 'visits' ? formatNumber(Math.round(10 ** value)) : formatNumber(value, 3);
		return element(
			'span',
			{ class: 'legend-item legend-scale', title: coloringWords[coloring] },
			`${name} `,
			show(range.min),
			canvas,
			show(range.max),
		);
	}
}
