import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SearchTree } from '../../../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../../../src/core/search/treeNode.ts';
import { readTreeEventLines, treeEventLines } from '../../../../src/protocol/treeEventReader.ts';
import type { TreeEvent } from '../../../../src/protocol/treeLog.ts';
import type { TreeViewCommand } from '../../../../src/protocol/treeMessages.ts';
import { answerGroups } from '../../../../webview/tree/answerGroups.ts';
import { eventsOf, eventsOfNode, lastSelectionValue } from '../../../../webview/tree/details/nodeEvents.ts';
import { wordsOf } from '../../../../webview/tree/draw/nodeLabel.ts';
import { sceneOf } from '../../../../webview/tree/draw/scene.ts';
import { eventsOfLines } from '../../../../webview/tree/eventLines.ts';
import { jsonExport } from '../../../../webview/tree/exports/jsonExport.ts';
import { mermaidExport, mermaidText } from '../../../../webview/tree/exports/mermaidExport.ts';
import { pathText } from '../../../../webview/tree/exports/pathText.ts';
import { xmlText } from '../../../../webview/tree/exports/svgExport.ts';
import { makeLayout } from '../../../../webview/tree/layout/makeLayout.ts';
import { visibleTree } from '../../../../webview/tree/layout/visibleTree.ts';
import { wantedBy } from '../../../../webview/tree/nodeFilter.ts';
import { fittingColoring, measureRange } from '../../../../webview/tree/nodeMeasures.ts';
import { findNodes, nextHit } from '../../../../webview/tree/nodeSearch.ts';
import { advance } from '../../../../webview/tree/player.ts';
import { TreeModel } from '../../../../webview/tree/treeModel.ts';
import { treeStatistics } from '../../../../webview/tree/treeStatistics.ts';
import { hostileTexts } from '../../../support/hostileTexts.ts';
import { agentEvents, mctsEvents, treeEvents } from '../../../support/treeEvents.ts';
import { someSource } from './treeHarness.ts';

function treeOf(events: readonly TreeEvent[]): SearchTree {
	const tree = new SearchTree();
	for (const event of events) tree.apply(event);
	return tree;
}

const encode = (events: readonly TreeEvent[]) => new TextEncoder().encode(treeEventLines(events));

function modelWith(saved?: ConstructorParameters<typeof TreeModel>[1]) {
	const commands: TreeViewCommand[] = [];
	const model = new TreeModel((command) => commands.push(command), saved);
	const open = (generation: number) =>
		model.receive({ type: 'open', side: 'main', generation, source: { ...someSource } });
	const add = (generation: number, from: number, events: readonly TreeEvent[], complete = true) =>
		model.receive({ type: 'events', side: 'main', generation, from, lines: encode(events), complete });
	return { model, commands, open, add };
}

test('events that arrive in batches, twice or out of order form one tree', () => {
	const events = mctsEvents({ nodes: 200 });
	const { model, commands, open, add } = modelWith();
	open(4);
	add(4, 0, events.slice(0, 300));
	add(4, 200, events.slice(200, 500));
	assert.equal(model.main?.events.length, 500);
	// A gap: the missing events are requested once.
	add(4, 600, events.slice(600, 700));
	add(4, 700, events.slice(700));
	assert.deepEqual(commands, [{ type: 'ready' }]);
	// Events from an earlier tree must not trigger a request.
	add(3, 0, events.slice(0, 10));
	assert.equal(commands.length, 1);
	open(5);
	add(5, 0, events);
	assert.deepEqual(
		model.main?.latest.nodes.map((node) => [node.visits, node.total]),
		treeOf(events).nodes.map((node) => [node.visits, node.total]),
	);
	assert.equal(model.main?.latest.skipped, 0);
});

test('any moment can be shown while the log grows', () => {
	const events = mctsEvents({ nodes: 300 });
	const { model, open, add } = modelWith();
	open(1);
	add(1, 0, events.slice(0, 900));
	for (const moment of [0, 700, 3, 899, 450]) {
		model.goTo(moment);
		const expected = treeOf(events.slice(0, moment));
		assert.equal(model.main?.shown.nodes.length, expected.nodes.length);
		assert.deepEqual(
			model.main?.shown.nodes.map(({ visits }) => visits),
			expected.nodes.map(({ visits }) => visits),
		);
		assert.equal(model.main?.lastEvent?.t, events[moment - 1]?.t);
	}
	add(1, 900, events.slice(900));
	assert.equal(model.main?.moment, 450, 'growth does not change the moment shown');
	model.goTo(null);
	assert.equal(model.main?.moment, events.length);
	assert.equal(model.main?.shown, model.main?.latest);
	model.goTo(1e9);
	assert.equal(model.main?.moment, events.length);
});

test('selection events parsed lazily give the same result', () => {
	const events = mctsEvents({ nodes: 60 });
	const lines = treeEventLines(events);
	assert.deepEqual(
		JSON.parse(JSON.stringify(eventsOfLines(lines))),
		JSON.parse(JSON.stringify(readTreeEventLines(lines))),
	);
	const torn = eventsOfLines('{"t":"select","at":1,"pa\n{"t":"node"\n{"t":"prune","at":1,"id":3,"reason":"x"}');
	assert.deepEqual(
		torn.map(({ t }) => t),
		['select', 'fault', 'prune'],
	);
	assert.deepEqual(torn[0]?.t === 'select' && torn[0].path, []);
	assert.deepEqual(eventsOfLines(''), []);
});

test('a selection survives a reload, and truncated text is requested', () => {
	const events = mctsEvents({ nodes: 40 });
	const first = modelWith();
	first.open(1);
	first.add(1, 0, events);
	first.model.select({ side: 'main', id: 17 });
	first.model.setOptions({ layout: 'radial' });
	first.model.fold('main', 4, false);
	const saved = first.model.saved();
	assert.ok(saved);
	const second = modelWith(saved);
	second.open(1);
	second.add(1, 0, events.slice(0, 20));
	assert.equal(second.model.selection, null);
	second.add(1, 20, events.slice(20));
	assert.deepEqual(second.model.selection, { side: 'main', id: 17 });
	assert.equal(second.model.options.layout, 'radial');
	assert.deepEqual([...second.model.folds.main], [[4, false]]);
	const cut = treeEvents([{ t: 'node', at: 0, id: 0, parents: [], text: 'begins', cut: true } as never]);
	const third = modelWith();
	third.open(1);
	third.add(1, 0, cut);
	third.model.select({ side: 'main', id: 0 });
	assert.deepEqual(third.commands, [{ type: 'wantText', side: 'main', id: 0 }]);
	third.model.receive({ type: 'text', side: 'main', id: 0, text: 'begins and ends' });
	const node = third.model.selected;
	assert.equal(node && third.model.main?.textOf(node), 'begins and ends');
	assert.equal(node && third.model.main?.isCut(node), false);
	third.model.select({ side: 'main', id: 99 });
	assert.equal(third.model.selection?.id, 0, 'there is no node 99');
});

test('answers are grouped by equality and by merges in the search', () => {
	const node = (id: number, answer: string | null, parents = [0]) =>
		({ t: 'node', at: id, id, parents, text: `a ${id}`, final: answer !== null, answer }) as const;
	const tree = treeOf(
		treeEvents([
			{
				t: 'start',
				at: 0,
				format: 1,
				id: 'x',
				strategy: 's',
				params: {},
				problem: { prompt: 'p', answer: '1/2' },
				policy: { name: 'p' },
				seed: 1,
			},
			node(0, null, []),
			node(1, '0.5'),
			node(2, '7'),
			node(3, ' 7.0 '),
			node(4, '1/2'),
			node(5, '8'),
			{ t: 'score', at: 6, id: 3, scorer: 'v', value: 0.9 },
			{ t: 'merge', at: 6, id: 4, into: 1 },
		]),
	);
	assert.deepEqual(
		answerGroups(tree).map(({ answer, nodes, best, bestNode, correct }) => [answer, nodes, best, bestNode, correct]),
		[
			['0.5', [1, 4], null, 1, true],
			['7', [2, 3], 0.9, 3, false],
			['8', [5], null, 5, false],
		],
	);
});

test('labels omit leading tags', () => {
	const nodes = (text: string) => treeOf(treeEvents([{ t: 'node', at: 0, id: 0, parents: [], text }])).nodes;
	const said = (text: string) => wordsOf(nodes(text)[0] as TreeNode);
	assert.equal(said('<think>\nFirst, 4 + 3.'), 'First, 4 + 3.');
	assert.equal(said('<|assistant|><think> so'), 'so');
	assert.equal(said('<think>'), '<think>');
	assert.equal(said('a <think> b'), 'a <think> b');
	assert.equal(said('x < 3 > 2'), 'x < 3 > 2');
});

test('the default coloring fits the tree, and filters keep the paths to matching nodes', () => {
	const tree = treeOf(mctsEvents({ nodes: 1200 }));
	assert.equal(fittingColoring(tree), 'value');
	assert.deepEqual(measureRange(tree, 'value'), { min: 0, max: 1 });
	assert.equal(fittingColoring(treeOf(agentEvents())), 'score');
	assert.equal(measureRange(treeOf(agentEvents()), 'visits'), null);
	// Values in a narrow range get their own scale; otherwise the whole tree would have one color.
	const scored = (...values: number[]) =>
		treeOf(
			treeEvents([
				...values.map((_, id) => ({ t: 'node' as const, at: id, id, parents: id === 0 ? [] : [0], text: `${id}` })),
				...values.map((value, id) => ({ t: 'score' as const, at: 9, id, scorer: 's', value })),
			]),
		);
	assert.deepEqual(measureRange(scored(0.91, 0.93, 0.92), 'score'), { min: 0.91, max: 0.93 });
	assert.deepEqual(measureRange(scored(0.1, 0.93, 0.5), 'score'), { min: 0, max: 1 });
	assert.deepEqual(measureRange(scored(0.4, 0.4), 'score'), { min: 0, max: 1 }, 'equal values have no scale');
	const wanted = wantedBy('answers', tree);
	const visible = visibleTree(tree.nodes, wanted === undefined ? {} : { isWanted: wanted });
	const leaves = [...visible.ids].filter((_, place) => !visible.parent.includes(place));
	assert.ok(leaves.length > 3);
	for (const id of leaves) assert.ok(tree.node(id)?.answer !== null);
	const open = wantedBy('open', tree);
	assert.ok(tree.nodes.some((node) => node.pruned !== null));
	for (const node of tree.nodes) if (node.pruned !== null) assert.equal(open?.(node), false);
});

test('search wraps around, and finds names and answers too', () => {
	const { nodes } = treeOf(agentEvents());
	assert.deepEqual(findNodes(nodes, ' SEARCH work'), [3, 4]);
	assert.deepEqual(findNodes(nodes, 'policy itself'), [6]);
	assert.deepEqual(findNodes(nodes, '  '), []);
	assert.deepEqual(
		[nextHit([2, 5], null, 1), nextHit([2, 5], 2, 1), nextHit([2, 5], 5, 1), nextHit([2, 5], 2, -1), nextHit([], 1, 1)],
		[2, 5, 2, 5, -1],
	);
});

test('playback advances by events or by log time, and ends', () => {
	const events = mctsEvents({ nodes: 50 });
	assert.deepEqual(advance({ moment: 3, rest: 0.5 }, 0.25, 10, events), { moment: 6, rest: 0 });
	assert.deepEqual(advance({ moment: 3, rest: 0 }, 100, 1000, events), { moment: events.length, rest: 0 });
	let state = { moment: 0, rest: 0 };
	let seconds = 0;
	while (state.moment < events.length && seconds < 1e4) {
		state = { ...advance(state, 0.05, 'recorded', events) };
		seconds += 0.05;
		for (const event of events.slice(0, state.moment)) assert.ok(event.at <= seconds + 1e-6);
	}
	assert.equal(state.moment, events.length);
	assert.ok(Math.abs(seconds - (events.at(-1)?.at ?? 0)) < 0.11);
});

test('events about a node are found', () => {
	const events = agentEvents();
	assert.equal(eventsOfNode(events, 'tool', 4, events.length)[0]?.error, 'nothing was found');
	assert.equal(eventsOfNode(events, 'tool', 4, 5).length, 0);
	assert.equal(eventsOfNode(events, 'reference', 6, events.length).length, 2);
	const grown = mctsEvents({ nodes: 100 });
	const { numbers, count } = eventsOf(grown, 5, grown.length, 4);
	assert.equal(numbers.length, 4);
	assert.ok(count > 4);
	assert.equal(eventsOf(grown, 5, grown.length, 1000).count, count);
	assert.equal(typeof lastSelectionValue(grown, 1, grown.length), 'number');
	assert.equal(lastSelectionValue(grown, 0, grown.length), null);
});

test('statistics add up', () => {
	const tree = treeOf(mctsEvents({ nodes: 400 }));
	const { nodes, leaves, simulations, branching, depth } = treeStatistics(tree);
	assert.equal(nodes, 399);
	assert.equal(simulations, 399);
	assert.ok(Math.abs((branching as number) * (tree.nodes.length - leaves) - 399) < 1e-9);
	assert.equal(depth, Math.max(...tree.nodes.map((node) => node.depth)));
});

test('a path becomes one text, with the line breaks in its steps, or else one after each step', () => {
	const { nodes } = treeOf(mctsEvents({ nodes: 20 }));
	const path = [nodes[0], nodes[1], nodes[4]].filter((node) => node !== undefined);
	assert.equal(
		pathText(path, ({ text }) => text),
		`What is six times seven?\nThink step by step.\n\n${nodes[1]?.text}${nodes[4]?.text}`,
	);
	assert.equal(
		pathText(path, ({ id }) => `s${id}`),
		's0\n\ns1\ns4',
	);
	assert.equal(
		pathText([], () => 'x'),
		'',
	);
});

test('no text can break out of a flowchart, an SVG or JSON', () => {
	const texts = Object.values(hostileTexts).map((text) => text.slice(0, 3000));
	const events = treeEvents([
		{ t: 'node', at: 0, id: 0, parents: [], text: 'root', role: 'problem' },
		...texts.map(
			(text, i) =>
				({
					t: 'node',
					at: i,
					id: i + 1,
					parents: [i >> 2],
					text,
					answer: text,
					label: i % 2 ? text : undefined,
				}) as never,
		),
	]);
	const tree = treeOf(events);
	const layout = makeLayout('tidy', tree.nodes, visibleTree(tree.nodes));
	const scene = sceneOf(layout, tree, {
		coloring: 'role',
		widths: true,
		hits: [],
		right: new Set(),
		answer: null,
		isJudged: false,
		event: null,
	});
	const lines = mermaidExport(scene).trimEnd().split('\n');
	assert.equal(lines[0], 'flowchart LR');
	for (const line of lines.slice(1)) {
		assert.match(line, /^(n\d+\W{1,2}"[^"`<>\\[\]{}|]*(<br\/>[^"`<>\\[\]{}|]*)*"\W{1,2}|n\d+ (-->|==>) n\d+)$/, line);
	}
	assert.equal(lines.length, 1 + tree.nodes.length + tree.nodes.length - 1);
	assert.equal(mermaidText('"];click n0 "x" %% <b>'), '#34;#93;#59;click n0 #34;x#34; #37;#37; #60;b#62;');
	for (const text of texts) {
		assert.doesNotMatch(xmlText(text), /[<>"']|&(?!#\d+;)/);
		// biome-ignore lint/suspicious/noControlCharactersInRegex: matches the control characters that must be absent
		assert.doesNotMatch(xmlText(text), /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/);
	}
	const parsed = JSON.parse(jsonExport(tree)) as { nodes: { text: string }[] };
	assert.equal(parsed.nodes.length, tree.nodes.length);
});

test('a large tree is truncated for a flowchart, with a note and the best path', () => {
	const tree = treeOf(mctsEvents({ nodes: 2000 }));
	const layout = makeLayout('tidy', tree.nodes, visibleTree(tree.nodes));
	const scene = sceneOf(layout, tree, {
		coloring: 'value',
		widths: true,
		hits: [],
		right: new Set(),
		answer: null,
		isJudged: true,
		event: null,
	});
	const text = mermaidExport(scene);
	assert.match(text, /^flowchart LR\n%% 300 of 2000 nodes: /);
	assert.equal(text.match(/ ==> /g)?.length, (tree.outcome?.best?.length ?? 0) - 1);
});
