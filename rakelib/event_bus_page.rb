# frozen_string_literal: true

# docs/internals/event_bus.md: who publishes and who subscribes in lib/skep/swarm.
module EventBusPage
  PATH = File.expand_path("../docs/internals/event_bus.md", __dir__)
  LIB = File.expand_path("../lib/skep/swarm", __dir__)
  TELLS = /\b(?:announce|publish)\(\s*([^,()]*:[a-z]\w+[^,()]*)/
  HEARS = /\bsubscribe\(((?:\*?[:A-Z]\w+(?:,\s*)?)+)\)/
  LISTS = /([A-Z]\w+) = %i\[([\w ]+)\]/
  private_constant :LIB, :TELLS, :HEARS, :LISTS

  module_function

  def text
    <<~HEAD + rows.join
      # Which component publishes what, and which ones hear it?

      `rake event_bus` writes this page from the code. `Runtime::EventBus` is synchronous: when `publish` returns, every subscriber has run, in the order of subscription. It carries what only has to be observed; what must happen in a
      certain order is a call. A published event goes to the log and to users' blocks, too ([all of them](../events.md)); the table has those that a component of the supervisor subscribes to. An announced fact (*internal*) reaches only these.

      | event | published in | heard by |
      |---|---|---|
    HEAD
  end

  def rows
    heard.sort.map do |name, files|
      internal = sources.any? { |_, text| text.include?("announce(:#{name}") }
      "| `#{name}`#{" (internal)" if internal} | #{links(told[name].to_a)} | #{links(files)} |\n"
    end
  end

  def told
    @told ||= by_name { |text| text.scan(TELLS).flatten.flat_map { |part| names(part) } }
  end

  def heard
    @heard ||= by_name do |text|
      lists = text.scan(LISTS).to_h
      text.scan(HEARS).flatten.flat_map do |part|
        names(part) + part.scan(/\*([A-Z]\w+)/).flatten.flat_map { |list| lists.fetch(list).split }
      end
    end
  end

  def by_name
    sources.each_with_object({}) do |(file, text), all|
      yield(text).uniq.each { |name| (all[name] ||= []) << file }
    end
  end

  def names(part) = part.scan(/(?<![:\w]):([a-z]\w+)/).flatten

  # Without comments.
  def sources
    @sources ||= Dir["#{LIB}/**/*.rb"].sort.to_h do |file|
      [file.delete_prefix("#{LIB}/"), File.readlines(file, encoding: "UTF-8").grep_v(/\A\s*#/).join]
    end
  end

  def links(files) = files.map { |file| "`#{file}`" }.join(", ")
end
