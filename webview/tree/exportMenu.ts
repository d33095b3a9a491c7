import { jsonExport } from './exports/jsonExport.ts';
import { mermaidExport } from './exports/mermaidExport.ts';
import { pathText } from './exports/pathText.ts';
import { svgExport } from './exports/svgExport.ts';
import { menuButton } from './menuButton.ts';
import type { TreeModel } from './treeModel.ts';
import type { TreePane } from './treePane.ts';

/** Export menu for images, data and text. */
export class ExportMenu {
	readonly element: HTMLElement;

	constructor(model: TreeModel, pane: () => TreePane | null) {
		const post = (format: 'svg' | 'png' | 'json' | 'mermaid', content: string): void =>
			model.post({ type: 'export', format, content });
		this.element = menuButton('Export', 'download', [
			{
				label: 'Expanded tree (SVG)',
				run: () => {
					const at = pane();
					if (at?.drawn)
						post('svg', svgExport(at.drawn.scene, at.palette, model.current?.source.title ?? 'Search tree'));
				},
			},
			{
				label: 'Current view (PNG)',
				run: () => {
					const at = pane();
					if (at?.drawn) post('png', pngOf(at.canvas, at.palette.theme.background));
				},
			},
			{
				label: 'All nodes with statistics (JSON)',
				run: () => {
					const side = model.current;
					if (side !== null) post('json', jsonExport(side.shown));
				},
			},
			{
				label: 'Expanded tree as flowchart (Mermaid)',
				run: () => {
					const at = pane();
					if (at?.drawn) post('mermaid', mermaidExport(at.drawn.scene));
				},
			},
			{
				label: 'Copy path to selected node',
				run: () => {
					const side = model.current;
					if (side === null) return;
					const end = model.selection?.id ?? side.shown.outcome?.best?.at(-1);
					const nodes = end === undefined ? [] : side.shown.pathTo(end).map((id) => side.shown.node(id));
					const path = nodes.filter((node) => node !== undefined);
					if (path.length > 0) model.post({ type: 'copy', text: pathText(path, (node) => side.textOf(node)) });
				},
			},
		]);
	}
}

/** Encodes the canvas as a base64 PNG with the theme's background, because the canvas itself is transparent. */
function pngOf(canvas: HTMLCanvasElement, background: string): string {
	const copy = document.createElement('canvas');
	[copy.width, copy.height] = [canvas.width, canvas.height];
	const context = copy.getContext('2d');
	if (context === null) return '';
	context.fillStyle = background;
	context.fillRect(0, 0, copy.width, copy.height);
	context.drawImage(canvas, 0, 0);
	return copy.toDataURL('image/png').replace(/^data:image\/png;base64,/, '');
}
