# frozen_string_literal: true

require "test_helper"
require "support/constant_graph"

# A component names only those before it. Each that can be is loaded alone, in a fresh Ruby with
# warnings and without gems.
class ArchitectureTest < Skep::TestCase
  # loads: the components that come with it when it is required; nil if it can't be without gems.
  Component = Struct.new(:constant, :loads, :facade, keyword_init: true) do
    def initialize(facade: [], **) = super
  end

  SWARM = %w[os fork threads swarm].freeze
  # Each may name those before it.
  COMPONENTS = {
    "os" => Component.new(constant: "OS", loads: [], facade: %w[pidfd]),
    "fork" => Component.new(constant: "Fork", loads: %w[os],
                            facade: %w[pid generation on_fork warmup]),
    "threads" => Component.new(constant: "Threads", loads: %w[os fork]),
    "swarm" => Component.new(constant: "Swarm", loads: %w[os fork threads], facade: %w[swarm]),
    "control" => Component.new(constant: "Control", loads: SWARM),
    "log" => Component.new(constant: "Log", loads: SWARM),
    "systemd" => Component.new(constant: "Systemd", loads: [*SWARM, "log"]),
    "metrics" => Component.new(constant: "Metrics", loads: SWARM),
    "cli" => Component.new(constant: "CLI", loads: [*SWARM, *%w[control log systemd metrics]]),
    "work" => Component.new(constant: "Work", loads: SWARM,
                            facade: %w[map each each_with_index flat_map filter_map]),
    "kafka" => Component.new(constant: "Kafka", loads: SWARM),
    "web" => Component.new(constant: "Web", loads: nil),
    "rails" => Component.new(constant: "Rails", loads: nil),
    "reshare" => Component.new(constant: "Reshare", loads: %w[os fork]),
    "guest" => Component.new(constant: "Guest", loads: SWARM),
    "puma" => Component.new(constant: "Puma", loads: nil),
    "sidekiq" => Component.new(constant: "Sidekiq", loads: nil),
    "solid_queue" => Component.new(constant: "SolidQueue", loads: nil),
    "karafka" => Component.new(constant: "Karafka", loads: nil)
  }.freeze
  # What `require "skep"` leaves out.
  OPT_IN = %w[kafka web rails reshare guest puma sidekiq solid_queue karafka cli].freeze
  ROOT = File.expand_path("..", __dir__)
  # The folders of a component, each of which may name those before it. All may name what lies
  # beside them: the public classes of kafka, and Swarm::Node, which counts as one of processes/.
  FOLDERS = {
    "Swarm" => %w[Runtime Stats IPC Definition Health Memory Profiling Processes Nodes Molds Rollout
                  Supervisor],
    "Kafka" => %w[Librdkafka Config Metrics Producer Failure Processing Consumer Admin Testing
                  Command],
    "Web" => %w[HTTP Auth Live DeadLetters]
  }.freeze
  BESIDE = { "Node" => "Processes" }.freeze
  MOST_IN_A_CIRCLE = 6
  private_constant :Component, :SWARM, :COMPONENTS, :OPT_IN, :ROOT, :FOLDERS, :BESIDE,
                   :MOST_IN_A_CIRCLE

  COMPONENTS.each do |name, component|
    next unless component.loads

    { "in C" => nil, "on its fallbacks" => "1" }.each do |how, pure|
      test "#{name} loads alone #{how}, with only the components that it needs" do
        others = COMPONENTS.except(name, *component.loads).values
        constants, facade = boot("skep/#{name}", pure)
        assert_includes constants, component.constant
        assert_empty constants & others.map(&:constant)
        assert_equal component.facade, facade & component.facade
        assert_empty facade & others.flat_map(&:facade)
      end
    end
  end

  test "a component names only those before it" do
    files = Dir.glob("#{ROOT}/skep*/lib/skep/**/*.rb")
    references = ConstantGraph.new(files, root: "Skep").references
    pairs = references.map { |pair| pair.map { |name| place(name) } }.select(&:all?)
    upward = pairs.uniq.select { |from, to| from < to }
    assert_empty(upward.map { |pair| COMPONENTS.keys.values_at(*pair) })
    assert_equal COMPONENTS.size, pairs.flatten.uniq.size
  end

  FOLDERS.each do |component, folders|
    test "each folder of #{component} names only those before it" do
      references = graph(component).references
      upward = references.select do |from, to|
        from, to = [from, to].map { |name| folder(component, name) }
        from && to && folders.index(from) < folders.index(to)
      end
      assert_empty upward
      assert_equal folders, folders & references.flatten.map { |name| folder(component, name) }
    end

    test "at most 6 of #{component}'s classes name each other in a circle" do
      largest = graph(component).circles.first.to_a
      puts "\nThe largest circle of #{component}'s classes: #{largest.join(", ")}"
      assert_operator largest.size, :<=, MOST_IN_A_CIRCLE
    end
  end

  test "only librdkafka/ uses FFI and librdkafka's structs" do
    code = code_of("kafka").grep_v(%r{\Askep-kafka/lib/skep/kafka/librdkafka/})
    assert_empty code.grep(/\bFFI\b|\bStructs\b|\.(?:get|put|read)_(?:u?int|pointer|bytes)/)
  end

  # What they know of it they get from plugins (Skep::Plugin). skep/data/gems has the gems' names.
  test "no file of skep's own gem has the word Kafka, in its code, comments or signatures" do
    assert_operator texts_of_skep.size, :>, 200
    assert_empty texts_of_skep.select { |_, text| text.match?(/kafka/i) }.keys
  end

  # Elsewhere "reshare" is the name of an option.
  test "skep's own gem names skep-reshare, and what is in it, only in ReshareHook" do
    names = %r{skep[-_/]reshare|\bReshare\b|HeapPageSlab|heap_page_slab|got_patch|cow_restore}
    naming = texts_of_skep.select { |_, text| text.match?(names) }
    assert_equal ["skep/lib/skep/fork/reshare_hook.rb"], naming.keys
  end

  test "requiring skep loads all components except those of OPT_IN" do
    constants, facade = boot("skep", nil)
    assert_equal COMPONENTS.except(*OPT_IN).values.map(&:constant), constants
    assert_equal COMPONENTS.values.flat_map(&:facade), facade
  end

  private

  # Returns the files of skep's own gem by path.
  def texts_of_skep
    files = Dir.glob("skep/{lib,exe,ext,sig}/**/*", base: ROOT)
    files = files.select { |path| File.file?("#{ROOT}/#{path}") && !path.end_with?(".so") }
    files.to_h { |path| [path, File.read("#{ROOT}/#{path}", encoding: "UTF-8")] }
  end

  # Returns the component's number in the table; nil for Skep::Error and the like.
  def place(name)
    COMPONENTS.values.index { |component| name[/\ASkep::(\w+)/, 1] == component.constant }
  end

  def graph(component)
    files = Dir.glob("#{ROOT}/skep*/lib/skep/#{component.downcase}{.rb,/**/*.rb}")
    ConstantGraph.new(files, root: "Skep::#{component}")
  end

  # Returns Nodes for Skep::Swarm::Nodes::Slot; nil for Skep::Swarm itself and its constants.
  def folder(component, name)
    part = name[/\ASkep::#{component}::(\w+)/, 1]
    BESIDE.fetch(part, (part if FOLDERS[component].include?(part)))
  end

  # The components' constants and facade methods that are defined once the feature is required.
  def boot(feature, pure)
    program = <<~RUBY
      require #{feature.inspect}
      puts #{COMPONENTS.values.map(&:constant)}.select { |name| Skep.const_defined?(name, false) }.join(" ")
      puts #{COMPONENTS.values.flat_map(&:facade)}.select { |name| Skep.respond_to?(name) }.join(" ")
    RUBY
    env = { "SKEP_PURE" => pure, "RUBYOPT" => "--disable=gems" }
    out, err, status = run_program(program, env:)
    assert_equal "", err
    assert_predicate status, :success?
    out.lines.map(&:split)
  end

  # The component's code as "path:line: text", comments left out.
  def code_of(component)
    Dir.glob("skep*/lib/skep/#{component}{.rb,/**/*.rb}", base: ROOT).flat_map do |path|
      lines = File.readlines("#{ROOT}/#{path}", encoding: "UTF-8")
      lines.map.with_index(1) { |line, number| "#{path}:#{number}: #{line}" unless line[/\A\s*#/] }
    end.compact
  end
end
