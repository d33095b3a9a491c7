import type { NodeRole } from '../../../src/protocol/treeLog.ts';

/** Node outlines around (0, 0) with a radius of about 1, as path data for canvas and SVG. */
const circle = 'M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z';
const square = 'M-0.9,-0.9H0.9V0.9H-0.9Z';
const diamond = 'M0,-1.25L1.25,0L0,1.25L-1.25,0Z';
const page =
	'M-1.3,-0.5Q-1.3,-0.85,-0.95,-0.85H0.95Q1.3,-0.85,1.3,-0.5V0.5Q1.3,0.85,0.95,0.85H-0.95Q-1.3,0.85,-1.3,0.5Z';
const hexagon = 'M-1.15,0L-0.6,-1H0.6L1.15,0L0.6,1H-0.6Z';
const triangle = 'M1.2,0L-0.85,1.1V-1.1Z';
const house = 'M0,-1.15L1.1,-0.25V0.95H-1.1V-0.25Z';

export const nodeShapes: Readonly<Record<NodeRole, string>> = {
	problem: circle,
	thought: circle,
	answer: square,
	draft: page,
	critique: diamond,
	revision: page,
	aggregate: triangle,
	subproblem: house,
	tool: hexagon,
};

export const roleNames: Readonly<Record<NodeRole, string>> = {
	problem: 'Problem',
	thought: 'Thought',
	answer: 'Answer',
	draft: 'Draft',
	critique: 'Critique',
	revision: 'Revision',
	aggregate: 'Aggregate',
	subproblem: 'Subproblem',
	tool: 'Tool',
};

/** Returns the node radius in CSS pixels at scale 1. */
export function radiusOf(role: NodeRole): number {
	return role === 'problem' ? 7.5 : role === 'thought' ? 5 : 5.5;
}

/** Returns the node scale. Nodes shrink less than the distances between them. */
export function nodeScale(k: number): number {
	return Math.max(0.4, Math.min(1.6, Math.sqrt(k)));
}

/** Check mark and cross, about the size of a node. */
export const checkMark = 'M-0.7,0L-0.2,0.55L0.75,-0.6';
export const crossMark = 'M-0.75,-0.75L0.75,0.75M0.75,-0.75L-0.75,0.75';
