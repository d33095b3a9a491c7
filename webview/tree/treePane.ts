import { Disposable, toDisposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { element, setText } from '../lib/dom.ts';
import { Redraw } from '../lib/frames.ts';
import type { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { AccessibleTree } from './accessibleTree.ts';
import { type Camera, cameraAt, panned, type Size, slowness, zoomLimits, zoomTo } from './draw/camera.ts';
import { type Gestures, gestures } from './draw/gestures.ts';
import { Painter } from './draw/painter.ts';
import { type Palette, paletteOf } from './draw/palette.ts';
import type { Scene } from './draw/scene.ts';
import { HoverBox } from './hoverBox.ts';
import type { Layout, LayoutKind } from './layout/layout.ts';
import { Minimap } from './minimap.ts';
import { type Coloring, fittingColoring } from './nodeMeasures.ts';
import { exceedsView, fittingCamera, keptCamera, marginOf, placeNear, revealedCamera } from './paneCamera.ts';
import { paneAction } from './paneKeys.ts';
import { PanePointer } from './panePointer.ts';
import { layoutOfSide, sceneOfSide } from './paneScene.ts';
import type { Change, Selection, TreeModel } from './treeModel.ts';
import type { SideName, TreeSide } from './treeSide.ts';
import { walk } from './treeWalk.ts';

/**
 * Minimum interval between layouts, in milliseconds. Layout uses at most a fifth of the time, and runs less often while
 * a log is loading.
 */
const layoutPause = { min: 60, share: 4, loading: 400 } as const;

/** Parts that can become outdated. `picture` is the canvas content for an unchanged scene. */
type Part = 'layout' | 'scene' | 'minimap' | 'picture';

export interface Drawn {
	readonly scene: Scene;
	readonly camera: Camera;
	readonly size: Size;
}

/** A tree on a canvas: drawing, panning, zooming and node selection. */
export class TreePane extends Disposable {
	readonly element: HTMLElement;
	readonly side: SideName;
	readonly #model: TreeModel;
	readonly #drew = this.register(new Emitter<Scene>());
	/** Fires when a new scene has been drawn. */
	readonly onDraw = this.#drew.event;
	#shown: Scene | null = null;
	readonly #canvas = element('canvas', { class: 'tree-canvas', aria: { hidden: true } });
	readonly #stage: AccessibleTree;
	/** Tree title, shown when there are two trees. */
	readonly #title = element('div', { class: 'pane-title', aria: { hidden: true } });
	readonly #hover = new HoverBox();
	readonly #minimap: Minimap;
	readonly #painter = new Painter();
	readonly #gestures: Gestures;
	#palette: Palette;
	#size: Size = { width: 0, height: 0 };
	#layout: Layout | null = null;
	#scene: Scene | null = null;
	#camera: Camera = cameraAt(1, 0, 0, null, 1);
	#slowness = 1;
	/** Whether to keep the whole tree in view as it grows, until the user pans or zooms. */
	#fitted = true;
	readonly #redraw = new Redraw(() => this.#draw());
	#timer: ReturnType<typeof setTimeout> | undefined;
	#layoutEnd = 0;
	#layoutCost = 0;
	#complete = false;
	readonly #stale = new Set<Part>(['layout', 'scene', 'minimap', 'picture']);
	#anchor: number | null = null;
	#hovered = -1;

	constructor(model: TreeModel, side: SideName, theme: ThemeWatcher) {
		super();
		this.#model = model;
		this.side = side;
		this.#palette = paletteOf(theme.theme);
		this.#stage = new AccessibleTree(side === 'main' ? 'Search tree' : 'Other search tree');
		this.#minimap = new Minimap((x, y) => {
			const { kx, ky } = this.#camera;
			const { width, height } = this.#size;
			this.#setCamera({ ...this.#camera, tx: width / 2 - x * kx, ty: height / 2 - y * ky }, false);
		});
		this.element = element(
			'div',
			{ class: 'tree-pane', data: { side } },
			this.#canvas,
			this.#title,
			this.#stage.element,
			this.#minimap.element,
			this.#hover.element,
		);
		this.#gestures = this.register(
			gestures(this.#stage.element, {
				pan: (dx, dy) => this.#setCamera(panned(this.#camera, dx, dy), false, false),
				zoom: (k, px, py) => this.#setCamera(this.#zoomed(k, px, py), false, false),
			}),
		);
		new PanePointer(this.#stage.element, {
			placeAt: (x, y) => (this.#scene === null ? -1 : placeNear(this.#scene, this.#camera, x, y)),
			choose: (place) => this.#choose(place, false),
			toggle: (place) => this.#toggle(place),
			hover: (place, x, y) => {
				this.#hovered = place;
				if (place === -1 || this.#scene === null) this.#hover.hide();
				else this.#hover.show(this.#scene, place, x, y, this.#size);
				this.#invalidate('picture');
			},
		});
		this.#stage.element.addEventListener('keydown', (event) => this.#onKey(event));
		this.#name();
		const resize = new ResizeObserver(() => this.#resize());
		resize.observe(this.element);
		this.register(toDisposable(() => resize.disconnect()));
		this.register(
			theme.onChange((changed) => {
				this.#palette = paletteOf(changed);
				this.#invalidate('scene', 'minimap', 'picture');
			}),
		);
		this.register(model.onChange((changes) => this.#update(changes)));
		this.register(
			model.onReveal(({ side: at, id }) => {
				if (at === this.side) this.reveal(id);
			}),
		);
		this.register(
			toDisposable(() => {
				this.#redraw.dispose();
				clearTimeout(this.#timer);
			}),
		);
	}

	/** Current layout: the user's choice, or a default that suits the tree. */
	get kind(): LayoutKind {
		const structure = this.#tree?.latest.start?.structure;
		return this.#model.options.layout ?? (structure === 'graph' ? 'layered' : 'tidy');
	}

	get coloring(): Coloring {
		const tree = this.#tree;
		return this.#model.options.coloring ?? (tree === null ? 'value' : fittingColoring(tree.latest));
	}

	/** Current drawing, or null if nothing has been drawn. */
	get drawn(): Drawn | null {
		return this.#scene === null ? null : { scene: this.#scene, camera: this.#camera, size: this.#size };
	}

	get palette(): Palette {
		return this.#palette;
	}

	get canvas(): HTMLCanvasElement {
		return this.#canvas;
	}

	focus(): void {
		this.#stage.element.focus({ preventScroll: true });
	}

	fit(): void {
		if (this.#layout === null) return;
		this.#slowness = slowness(this.#layout, this.#size, marginOf(this.#layout.kind, this.#size));
		this.#setCamera(fittingCamera(this.#layout, this.#size, this.#slowness), true);
	}

	zoomBy(factor: number): void {
		const { width, height } = this.#size;
		this.#setCamera(this.#zoomed(this.#camera.k * factor, width / 2, height / 2), false);
	}

	/** Scrolls a node into view and expands its ancestors. */
	reveal(id: number): void {
		const side = this.#tree;
		const node = side?.latest.node(id);
		if (side === null || node === undefined) return;
		if (this.#layout !== null && (this.#layout.tree.placeOf[id] ?? -1) === -1) {
			for (const up of side.latest.pathTo(id).slice(0, -1)) this.#model.folds[this.side].set(up, true);
			this.#stale.add('layout');
		}
		this.#settle(true);
		const place = this.#layout?.tree.placeOf[id] ?? -1;
		if (this.#layout === null || place === -1 || this.#size.width === 0) return;
		const to = revealedCamera(this.#camera, this.#size, this.#slowness, this.#layout, place, this.#fitted);
		if (to.tx !== this.#camera.tx || to.ty !== this.#camera.ty || to.k !== this.#camera.k) this.#setCamera(to, false);
		else this.#invalidate();
	}

	get #tree(): TreeSide | null {
		return this.#model.side(this.side);
	}

	#update(changes: ReadonlySet<Change>): void {
		if (changes.has('sides')) {
			this.#fitted = true;
			this.#layoutEnd = 0;
		}
		if (changes.has('sides') || changes.has('events') || changes.has('folds')) this.#invalidate('layout');
		if (changes.has('options')) {
			if (this.#layout !== null && this.#layout.kind !== this.kind) this.#fitted = true;
			this.#layoutEnd = 0;
			this.#invalidate('layout');
		}
		// Lay out immediately after user actions and when the tree is complete.
		const isWhole = changes.has('events') && !this.#complete && this.#tree?.complete === true;
		if (changes.has('folds') || isWhole) this.#layoutEnd = 0;
		this.#complete = this.#tree?.complete ?? false;
		if (changes.has('source') || changes.has('sides')) this.#name();
		if (changes.has('moment') || changes.has('search') || changes.has('selection')) this.#invalidate('scene');
	}

	#name(): void {
		const isOne = this.#model.other === null;
		const title = plainLabel(this.#tree?.source.title ?? '', 120);
		setText(this.#title, isOne ? '' : title);
		this.#stage.setLabel(isOne ? 'Search tree' : `Search tree: ${title}`);
	}

	#invalidate(...what: Part[]): void {
		for (const part of what) this.#stale.add(part);
		this.#redraw.schedule();
	}

	#resize(): void {
		const { clientWidth: width, clientHeight: height } = this.element;
		if (width === this.#size.width && height === this.#size.height) return;
		this.#size = { width, height };
		if (this.#fitted) this.#refit();
		this.#invalidate('minimap', 'picture');
	}

	#setCamera(camera: Camera, fitted: boolean, settle = true): void {
		this.#camera = camera;
		this.#fitted = fitted;
		if (settle) this.#gestures.settle(camera.k);
		this.#hover.hide();
		this.#invalidate('picture');
	}

	#zoomed(k: number, px: number, py: number): Camera {
		const limited = Math.max(zoomLimits.min, Math.min(zoomLimits.max, k));
		return zoomTo(this.#camera, limited, px, py, this.#layout?.slow ?? null, this.#slowness);
	}

	#refit(): void {
		if (this.#layout === null || this.#size.width === 0) return;
		this.#slowness = slowness(this.#layout, this.#size, marginOf(this.#layout.kind, this.#size));
		this.#camera = fittingCamera(this.#layout, this.#size, this.#slowness);
		this.#gestures.settle(this.#camera.k);
	}

	/** Updates outdated parts. Throttles slow layouts. */
	#settle(now = false): void {
		const side = this.#tree;
		if (side === null) {
			this.#layout = null;
			this.#scene = null;
			this.#stale.add('picture');
			return;
		}
		if (this.#stale.has('layout')) {
			const wait =
				this.#layoutEnd +
				Math.max(side.complete ? layoutPause.min : layoutPause.loading, layoutPause.share * this.#layoutCost) -
				performance.now();
			if (now || this.#layout === null || this.#layoutEnd === 0 || wait <= 0) this.#layOut(side);
			else
				this.#timer ??= setTimeout(() => {
					this.#timer = undefined;
					this.#invalidate();
				}, wait);
		}
		if (!this.#stale.has('scene') || this.#layout === null) return;
		this.#scene = sceneOfSide(this.#model, side, this.#layout, this.coloring);
		this.#stale.delete('scene');
		this.#stale.add('minimap').add('picture');
		this.#stage.update(this.#scene, this.#placeOf(this.#model.selection));
	}

	#layOut(side: TreeSide): void {
		const begin = performance.now();
		const { selection } = this.#model;
		const selected = selection?.side === this.side ? selection.id : null;
		const before = this.#layout;
		const layout = layoutOfSide(this.#model, side, this.kind);
		this.#layout = layout;
		this.#stale.delete('layout');
		this.#stale.add('scene');
		if (this.#fitted) this.#refit();
		else if (before !== null) {
			this.#camera = keptCamera(this.#camera, this.#size, this.#slowness, before, layout, this.#anchor ?? selected);
		}
		this.#anchor = null;
		this.#layoutEnd = performance.now();
		this.#layoutCost = this.#layoutEnd - begin;
	}

	#draw(): void {
		this.#settle();
		// While a layout is pending, keep the last picture on the canvas.
		if (!this.#stale.delete('picture') || this.#size.width === 0 || this.#size.height === 0) return;
		const scene = this.#scene;
		if (scene === null) {
			this.#painter.clear(this.#canvas, this.#size);
			return;
		}
		const [camera, size, palette] = [this.#camera, this.#size, this.#palette];
		const selected = this.#placeOf(this.#model.selection);
		this.#painter.paint(this.#canvas, { scene, camera, size, palette, selected, hovered: this.#hovered });
		const isMapped = this.#model.options.minimap && exceedsView(scene.layout, this.#camera, this.#size);
		this.#minimap.element.hidden = !isMapped;
		if (isMapped) this.#minimap.draw(scene, camera, size, palette, this.#stale.has('minimap'));
		this.#stale.delete('minimap');
		if (scene === this.#shown) return;
		this.#shown = scene;
		this.#drew.fire(scene);
	}

	/** Returns the place of the selected node if it is visible on this side, or -1 otherwise. */
	#placeOf(selection: Selection | null): number {
		if (selection?.side !== this.side) return -1;
		return this.#layout?.tree.placeOf[selection.id] ?? -1;
	}

	#onKey(event: KeyboardEvent): void {
		const scene = this.#scene;
		const action = scene === null ? null : paneAction(event, scene.layout);
		if (scene === null || action === null) return;
		event.preventDefault();
		event.stopPropagation();
		const from = this.#placeOf(this.#model.selection);
		switch (action.type) {
			case 'walk': {
				// Expand a collapsed node first, as in any tree view.
				if (action.direction === 'child' && from !== -1 && this.#isClosed(scene.layout, from)) this.#toggle(from);
				else {
					const to = walk(scene.layout, from, action.direction);
					if (to !== -1) this.#choose(to, true);
				}
				break;
			}
			case 'toggle':
				if (from !== -1) this.#toggle(from);
				break;
			case 'pan':
				this.#setCamera(panned(this.#camera, action.dx, action.dy), false);
				break;
			case 'zoom':
				this.zoomBy(action.factor);
				break;
			case 'fit':
				this.fit();
				break;
			case 'best': {
				const end = scene.tree.outcome?.best?.at(-1);
				if (end !== undefined) this.#model.select({ side: this.side, id: end }, true);
				break;
			}
		}
	}

	#choose(place: number, reveal: boolean): void {
		const id = this.#scene?.layout.tree.ids[place];
		if (id === undefined) return;
		this.#model.select({ side: this.side, id }, reveal);
		// Show details for a selected node.
		if (this.#model.tab === 'search') this.#model.setTab('node');
	}

	#isClosed({ tree }: Layout, place: number): boolean {
		return (tree.hidden[place] as number) > 0 && tree.parent[place + 1] !== place;
	}

	#toggle(place: number): void {
		const layout = this.#layout;
		const id = layout?.tree.ids[place];
		if (layout === null || id === undefined || (this.#tree?.latest.node(id)?.children.length ?? 0) === 0) return;
		this.#anchor = id;
		this.#fitted = false;
		this.#model.fold(this.side, id, this.#isClosed(layout, place));
	}
}
