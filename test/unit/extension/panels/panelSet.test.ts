import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { Uri, window } from '../vscodeStandIn.ts';

const { PanelSet } = await import('../../../../src/extension/panels/panelSet.ts');

/** Stand-in for a webview panel, with the members that PanelSet uses. */
class Tab {
	readonly webview = { html: '' };
	readonly #closed: (() => void)[] = [];
	onDidDispose(listener: () => void): void {
		this.#closed.push(listener);
	}
	dispose(): void {
		for (const listener of this.#closed.splice(0)) listener();
	}
}

/** Creates panels for string locations, compared case-insensitively. */
function panelsOf(t: TestContext, shared = true) {
	const events: string[] = [];
	t.mock.method(window, 'createWebviewPanel', () => new Tab());
	const set = new PanelSet<{ reveal(): void; dispose(): void }, string, number>(Uri.file('/extension') as never, {
		viewType: 'test',
		what: 'this test',
		key: (place) => (shared ? place.toLowerCase() : null),
		title: (place) => place,
		create(panel, place, options) {
			events.push(`create ${place} ${options}`);
			return { reveal: () => events.push(`reveal ${place}`), dispose: () => panel.dispose() };
		},
		reopen: (_, place, options) => void events.push(`reopen ${place} ${options}`),
		restore(state) {
			if (typeof state === 'string') return state;
			throw new Failure('invalid', 'Not a <name>.');
		},
	});
	return { set, events, restore: (tab: Tab, state: unknown) => set.deserializeWebviewPanel(tab as never, state) };
}

test('opens a location once, then reveals it', (t) => {
	const { set, events } = panelsOf(t);
	const panel = set.open('a', 1);
	assert.equal(set.open('A', 2), panel);
	assert.deepEqual(events, ['create a 1', 'reveal a', 'reopen A 2']);
	panel.dispose();
	assert.deepEqual(set.panels, []);
	set.open('a');
	set.open('b');
	assert.equal(set.panels.length, 2);
	set.dispose();
	assert.deepEqual(set.panels, []);
});

test('restores a location unless it is open, and explains failures', async (t) => {
	const { set, events, restore } = panelsOf(t);
	await restore(new Tab(), 'a');
	let closed = false;
	const second = new Tab();
	second.onDidDispose(() => {
		closed = true;
	});
	await restore(second, 'A');
	assert.deepEqual([events, closed, set.panels.length], [['create a undefined'], true, 1]);
	const broken = new Tab();
	await restore(broken, 5);
	assert.match(broken.webview.html, /Cannot show this test/);
	assert.match(broken.webview.html, /Not a &lt;name&gt;/);
});

test('locations without a key never share a panel', (t) => {
	const { set } = panelsOf(t, false);
	assert.notEqual(set.open('a'), set.open('a'));
	assert.equal(set.panels.length, 2);
});
