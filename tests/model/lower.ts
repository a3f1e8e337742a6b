/**
 * Turns a function that touches shared memory into a state machine whose position and variables are plain data: a
 * frame that can be copied, hashed and set back. Each access to shared memory becomes a step of its own, with the rest
 * of the function cut at that point; everything in between stays JavaScript as it was written.
 *
 * A generator would be simpler, but cannot be copied: going back to an earlier state would mean running the schedule
 * from its beginning, and two states could not be told to be equal.
 *
 * Understood is the JavaScript that the scheduler is written in. Anything else throws, rather than being run wrongly.
 */
import type { Node } from "./modules.ts"
import { atomicOp, atomicOperands, memoryAddress, Op } from "./ops.ts"
import { Block, type Local, print, Scope, type Target, withPlainParameters } from "./lowered.ts"

/** What a function needs to know about the others. */
export interface Names {
  /** The index of a function that is a state machine too. */
  readonly stepping: (name: string) => number | undefined
  /** JavaScript for a name that is no local: of a module, an import, or a global. */
  readonly outer: (name: string) => string
}

/** Lowers one function. */
export class Lowering {
  readonly blocks: Array<Block> = []
  /** The first two of a frame are its function and its position. */
  slots = 2
  #names: Names
  #scope = new Scope(undefined)
  #block: Block
  #loops: Array<{ readonly onContinue: Block; readonly onBreak: Block }> = []
  #steps = new WeakMap<object, boolean>()

  constructor(fn: Node, names: Names) {
    this.#names = names
    this.#block = this.#newBlock()
    const { body, params } = withPlainParameters(fn)
    for (const param of params) this.#declare(param)
    this.#statement(body)
    this.#return("undefined")
  }

  // ---- blocks -------------------------------------------------------------------------------------------------

  #newBlock(): Block {
    const block = new Block(this.blocks.length)
    this.blocks.push(block)
    return block
  }

  #goto(to: Block): void {
    this.#block.end ??= { kind: "goto", to: to.id }
  }

  #return(value: string): void {
    this.#block.end ??= { kind: "return", value }
  }

  /** Cuts here: the machine goes on in a new block with the result of `end`. */
  #cut(end: (next: number) => Block["end"]): string {
    const next = this.#newBlock()
    this.#block.end ??= end(next.id)
    this.#block = next
    return this.#temp("T.r")
  }

  #access(op: number, args: ReadonlyArray<string>): string {
    return this.#cut((next) => ({ kind: "access", op, args, next }))
  }

  #temp(value: string): string {
    const slot = this.slots++
    this.#block.set(slot, value)
    return `f[${slot}]`
  }

  // ---- statements ---------------------------------------------------------------------------------------------

  #declare(pattern: Node): Local {
    if (pattern.type !== "Identifier") throw new Error(`cannot declare a ${pattern.type}`)
    return this.#scope.declare(pattern.name, `f[${this.slots++}]`)
  }

  #within(run: () => void): void {
    this.#scope = new Scope(this.#scope)
    run()
    this.#scope = this.#scope.outer!
  }

  #statement(node: Node): void {
    switch (node.type) {
      case "BlockStatement":
        return this.#within(() => node.body.forEach((statement: Node) => this.#statement(statement)))
      case "VariableDeclaration":
        for (const { id, init } of node.declarations) {
          const value = init === null ? "undefined" : this.#value(init)
          this.#assign(this.#declare(id), value)
        }
        return
      case "ExpressionStatement": {
        const { expression } = node
        if (expression.type === "SequenceExpression") {
          for (const part of expression.expressions) this.#statement({ type: "ExpressionStatement", expression: part })
          return
        }
        const value = this.#value(expression)
        // What is left over may have effects of its own, like a call. An assignment has been emitted.
        if (expression.type !== "AssignmentExpression" && !/^f\[\d+\]$/.test(value)) this.#block.run(value)
        return
      }
      case "ReturnStatement":
        return this.#return(node.argument === null ? "undefined" : this.#value(node.argument))
      case "IfStatement": {
        const [yes, no, after] = [this.#newBlock(), this.#newBlock(), this.#newBlock()]
        this.#branch(node.test, yes, no)
        this.#block = yes
        this.#statement(node.consequent)
        this.#goto(after)
        this.#block = no
        if (node.alternate !== null) this.#statement(node.alternate)
        this.#goto(after)
        this.#block = after
        return
      }
      case "WhileStatement":
        return this.#loop(node.test, undefined, node.body)
      case "ForStatement":
        return this.#within(() => {
          if (node.init?.type === "VariableDeclaration") this.#statement(node.init)
          else if (node.init !== null) this.#value(node.init)
          this.#loop(node.test, node.update, node.body)
        })
      case "ForOfStatement":
        return this.#each(node.right, (element) => {
          this.#assign(this.#declare(node.left.declarations[0].id), element)
          this.#statement(node.body)
        })
      case "BreakStatement":
      case "ContinueStatement": {
        if (node.label !== null) throw new Error("labels are not understood")
        const loop = this.#loops[this.#loops.length - 1]
        this.#goto(node.type === "BreakStatement" ? loop.onBreak : loop.onContinue)
        return
      }
      case "ThrowStatement":
        return this.#block.run(`throw ${this.#value(node.argument)}`)
      case "EmptyStatement":
        return
      default:
        throw new Error(`a ${node.type} is not understood`)
    }
  }

  #loop(test: Node | null, update: Node | null | undefined, body: Node): void {
    const [head, run, next, after] = [this.#newBlock(), this.#newBlock(), this.#newBlock(), this.#newBlock()]
    this.#goto(head)
    this.#block = head
    if (test === null) this.#goto(run)
    else this.#branch(test, run, after)
    this.#block = run
    this.#loops.push({ onContinue: next, onBreak: after })
    this.#statement(body)
    this.#loops.pop()
    this.#goto(next)
    this.#block = next
    if (update) this.#statement({ type: "ExpressionStatement", expression: update })
    this.#goto(head)
    this.#block = after
  }

  /** A loop over an array; `body` gets JavaScript for the element. */
  #each(array: Node, body: (element: string, after: Block) => void): void {
    const list = this.#temp(this.#value(array))
    const index = this.#temp("0")
    const [head, run, next, after] = [this.#newBlock(), this.#newBlock(), this.#newBlock(), this.#newBlock()]
    this.#goto(head)
    this.#block = head
    head.end = { kind: "branch", test: `${index} < ${list}.length`, yes: run.id, no: after.id }
    this.#block = run
    this.#loops.push({ onContinue: next, onBreak: after })
    this.#within(() => body(`${list}[${index}]`, after))
    this.#loops.pop()
    this.#goto(next)
    this.#block = next
    this.#assign({ js: index }, `${index} + 1`)
    this.#goto(head)
    this.#block = after
  }

  #branch(test: Node, yes: Block, no: Block): void {
    if (this.#hasSteps(test)) {
      if (test.type === "UnaryExpression" && test.operator === "!") return this.#branch(test.argument, no, yes)
      if (test.type === "LogicalExpression" && test.operator !== "??") {
        const right = this.#newBlock()
        if (test.operator === "&&") this.#branch(test.left, right, no)
        else this.#branch(test.left, yes, right)
        this.#block = right
        return this.#branch(test.right, yes, no)
      }
    }
    const value = this.#value(test)
    this.#block.end ??= { kind: "branch", test: value, yes: yes.id, no: no.id }
  }

  // ---- expressions --------------------------------------------------------------------------------------------

  #hasSteps(node: Node): boolean {
    if (node === null || typeof node !== "object") return false
    const known = this.#steps.get(node)
    if (known !== undefined) return known
    const found = memoryAddress(node) !== undefined || atomicOp(node) !== undefined ||
      this.#called(node) !== undefined ||
      Object.values(node).some((child) =>
        Array.isArray(child) ? child.some((c) => this.#hasSteps(c)) : this.#hasSteps(child)
      )
    this.#steps.set(node, found)
    return found
  }

  /** The state machine that `node` calls, if it does. */
  #called(node: Node): number | undefined {
    if (node.type !== "CallExpression" || node.callee.type !== "Identifier") return undefined
    return this.#scope.find(node.callee.name) === undefined ? this.#names.stepping(node.callee.name) : undefined
  }

  #print(node: Node): string {
    return print(node, this.#scope, this.#names.outer)
  }

  /** Values from left to right; those before a step are put aside, so that the step cannot change them. */
  #values(nodes: ReadonlyArray<Node>): Array<string> {
    const last = nodes.findLastIndex((node) => this.#hasSteps(node))
    return nodes.map((node, i) => {
      const value = this.#value(node)
      return i < last && node.type !== "Literal" ? this.#temp(value) : value
    })
  }

  #assign(to: Local, value: string): void {
    const slot = /^f\[(\d+)\]$/.exec(to.js)
    if (slot !== null) this.#block.set(Number(slot[1]), value)
    else this.#block.run(`${to.js} = ${value}`)
  }

  /** Emits the steps of an expression and returns JavaScript without steps for its value. */
  #value(node: Node): string {
    if (node.type === "AssignmentExpression") return this.#assignment(node)
    if (node.type === "UpdateExpression" && this.#hasSteps(node)) {
      const operator = node.operator === "++" ? "+" : "-"
      return this.#change(node.argument, (old) => `(${old} ${operator} 1)`)
    }
    if (!this.#hasSteps(node)) return this.#print(node)
    const op = atomicOp(node)
    if (op !== undefined) return this.#access(op, this.#values(atomicOperands(node)))
    const address = memoryAddress(node)
    if (address !== undefined) return this.#access(Op.read, [this.#value(address)])
    const fn = this.#called(node)
    if (fn !== undefined) {
      const args = this.#values(node.arguments)
      return this.#cut((next) => ({ kind: "call", fn, args, next }))
    }
    switch (node.type) {
      case "BinaryExpression": {
        const [left, right] = this.#values([node.left, node.right])
        return `(${left} ${node.operator} ${right})`
      }
      case "UnaryExpression":
        return `(${node.operator} ${this.#value(node.argument)})`
      case "LogicalExpression":
        return this.#choice(node.left, node.operator, node.right)
      case "ConditionalExpression": {
        const result = this.#temp("undefined")
        const [yes, no, after] = [this.#newBlock(), this.#newBlock(), this.#newBlock()]
        this.#branch(node.test, yes, no)
        for (const [block, branch] of [[yes, node.consequent], [no, node.alternate]]) {
          this.#block = block
          this.#assign({ js: result }, this.#value(branch))
          this.#goto(after)
        }
        this.#block = after
        return result
      }
      case "CallExpression":
        return this.#nativeCall(node)
      case "NewExpression":
        return `new ${this.#print(node.callee)}(${this.#values(node.arguments).join(", ")})`
      case "MemberExpression": {
        if (!node.computed) return `${this.#value(node.object)}.${node.property.name}`
        const [object, property] = this.#values([node.object, node.property])
        return `${object}[${property}]`
      }
      case "ArrayExpression":
        return `[${this.#values(node.elements).join(", ")}]`
      case "ObjectExpression": {
        const values = this.#values(node.properties.map((p: Node) => p.value))
        return `({ ${node.properties.map((p: Node, i: number) => `${p.key.name}: ${values[i]}`).join(", ")} })`
      }
      default:
        throw new Error(`steps inside a ${node.type} are not understood`)
    }
  }

  /** A call of something that has no steps itself, or of `every` or `filter` with a function that has. */
  #nativeCall(node: Node): string {
    const [first] = node.arguments
    const method = node.callee.type === "MemberExpression" && !node.callee.computed ? node.callee.property.name : ""
    if (first?.type === "ArrowFunctionExpression" && this.#hasSteps(first)) {
      if (method !== "every" && method !== "filter") throw new Error(`steps in a callback of ${method}`)
      const result = this.#temp(method === "every" ? "true" : "[]")
      this.#each(node.callee.object, (element, after) => {
        this.#assign(this.#declare(first.params[0]), element)
        const test = this.#value(first.body)
        if (method === "filter") return this.#block.run(`if (${test}) ${result}.push(${element})`)
        const failed = this.#newBlock()
        const on = this.#newBlock()
        this.#block.end = { kind: "branch", test, yes: on.id, no: failed.id }
        this.#block = failed
        this.#assign({ js: result }, "false")
        this.#goto(after)
        this.#block = on
      })
      return result
    }
    if (node.callee.type === "MemberExpression" && this.#hasSteps(node.callee)) {
      const object = this.#temp(this.#value(node.callee.object))
      return this.#temp(`${object}.${method}(${this.#values(node.arguments).join(", ")})`)
    }
    return this.#temp(`${this.#print(node.callee)}(${this.#values(node.arguments).join(", ")})`)
  }

  #choice(left: Node, operator: string, right: Node): string {
    const result = this.#temp(this.#value(left))
    if (!this.#hasSteps(right)) return `(${result} ${operator} ${this.#print(right)})`
    const [more, after] = [this.#newBlock(), this.#newBlock()]
    this.#decide(operator, result, more, after)
    this.#block = more
    this.#assign({ js: result }, this.#value(right))
    this.#goto(after)
    this.#block = after
    return result
  }

  #decide(operator: string, value: string, more: Block, after: Block): void {
    const test = operator === "&&" ? value : operator === "||" ? `!${value}` : `${value} == null`
    this.#block.end = { kind: "branch", test, yes: more.id, no: after.id }
  }

  #assignment({ left, operator, right }: Node): string {
    if (["||=", "&&=", "??="].includes(operator)) {
      const target: Local = { js: this.#print(left) }
      const [more, after] = [this.#newBlock(), this.#newBlock()]
      this.#decide(operator.slice(0, 2), target.js, more, after)
      this.#block = more
      this.#assign(target, this.#value(right))
      this.#goto(after)
      this.#block = after
      return target.js
    }
    if (operator !== "=") {
      return this.#change(left, (old) => `(${old} ${operator.slice(0, -1)} ${this.#value(right)})`, right)
    }
    const address = memoryAddress(left)
    if (address !== undefined) {
      const [at, value] = this.#values([address, right])
      this.#access(Op.write, [at, value])
      return value
    }
    const target = this.#target(left, right)
    const value = this.#value(right)
    this.#assign(target, value)
    return target.js
  }

  /** Reads `target`, and writes what `next` makes of it. */
  #change(target: Node, next: (old: string) => string, right?: Node): string {
    const address = memoryAddress(target)
    if (address === undefined) {
      const place = this.#target(target, right)
      const old = right !== undefined && this.#hasSteps(right) ? this.#temp(place.js) : place.js
      this.#assign(place, next(old))
      return place.js
    }
    const at = this.#temp(this.#value(address))
    const value = this.#temp(next(this.#access(Op.read, [at])))
    this.#access(Op.write, [at, value])
    return value
  }

  /** Where an assignment to something that is not shared goes. */
  #target(node: Node, right: Node | undefined): Target {
    if (right !== undefined && this.#hasSteps(right) && node.type === "MemberExpression") {
      const object = this.#temp(this.#value(node.object))
      return {
        js: node.computed ? `${object}[${this.#temp(this.#value(node.property))}]` : `${object}.${node.property.name}`,
      }
    }
    return { js: this.#hasSteps(node) ? this.#value(node) : this.#print(node) }
  }
}
