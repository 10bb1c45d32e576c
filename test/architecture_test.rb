# frozen_string_literal: true

require "test_helper"
require "support/constant_graph"

# Rooms know only the rooms under them: each is booted alone, in a fresh Ruby that warns and has
# no gems.
class ArchitectureTest < Skep::TestCase
  Room = Struct.new(:constant, :below, :facade, keyword_init: true)

  ROOMS = {
    "os" => Room.new(constant: "OS", below: [], facade: %w[pidfd]),
    "fork" => Room.new(constant: "Fork", below: %w[os], facade: %w[pid generation on_fork warmup]),
    "threads" => Room.new(constant: "Threads", below: %w[os fork], facade: []),
    "swarm" => Room.new(constant: "Swarm", below: %w[os fork threads], facade: %w[swarm]),
    "work" => Room.new(constant: "Work", below: %w[os fork threads swarm],
                       facade: %w[map each each_with_index flat_map filter_map]),
    "watch" => Room.new(constant: "Watch", below: %w[os fork threads swarm], facade: []),
    "cli" => Room.new(constant: "CLI", below: %w[os fork threads swarm work watch], facade: [])
  }.freeze
  ROOT = File.expand_path("..", __dir__)
  # The folders of a room, each of which may name those before it. All may name what lies beside
  # them: the public classes of kafka, and Swarm::Child, which counts as one of processes/.
  FOLDERS = {
    "Swarm" => %w[Runtime Stats IPC Definition Health Memory Processes Nodes Molds Rollout
                  Supervisor],
    "Kafka" => %w[Librdkafka Config Metrics Producer Failure Processing Consumer Admin Testing]
  }.freeze
  BESIDE = { "Child" => "Processes" }.freeze
  MOST_IN_A_CIRCLE = 6
  private_constant :Room, :ROOMS, :ROOT, :FOLDERS, :BESIDE, :MOST_IN_A_CIRCLE

  ROOMS.each do |name, room|
    strangers = ROOMS.except(name, *room.below)

    { "in C" => nil, "on its fallbacks" => "1" }.each do |how, pure|
      test "#{name} boots alone #{how}, and brings along only rooms under it" do
        constants, facade = boot("skep/#{name}", pure)
        assert_includes constants, room.constant
        assert_empty constants & strangers.values.map(&:constant)
        assert_equal room.facade, facade & room.facade
        assert_empty facade & strangers.values.flat_map(&:facade)
      end
    end

    test "#{name} names only rooms under it" do
      foreign = strangers.flat_map { |other, facts| ["skep/#{other}", "Skep::#{facts.constant}"] }
      refute_empty code_of(name)
      assert_empty code_of(name).grep(/(?:#{foreign.join("|")})\b/) if foreign.any?
    end
  end

  FOLDERS.each do |room, folders|
    test "each folder of #{room} names only those before it" do
      references = graph(room).references
      upward = references.select do |from, to|
        from, to = [from, to].map { |name| folder(room, name) }
        from && to && folders.index(from) < folders.index(to)
      end
      assert_empty upward
      assert_equal folders, folders & references.flatten.map { |name| folder(room, name) }
    end

    test "no large group of #{room}'s classes name each other" do
      largest = graph(room).circles.first.to_a
      puts "\nThe largest circle of #{room}'s classes: #{largest.join(", ")}"
      assert_operator largest.size, :<=, MOST_IN_A_CIRCLE
    end
  end

  test "only librdkafka/ knows FFI and librdkafka's structs" do
    code = code_of("kafka").grep_v(%r{\Alib/skep/kafka/librdkafka/})
    assert_empty code.grep(/\bFFI\b|\bStructs\b|\.(?:get|put|read)_(?:u?int|pointer|bytes)/)
  end

  test "skep itself wires all rooms but cli, which is the executable's" do
    constants, facade = boot("skep", nil)
    assert_equal ROOMS.except("cli").values.map(&:constant), constants
    assert_equal ROOMS.values.flat_map(&:facade), facade
  end

  private

  def graph(room)
    files = Dir.glob("#{ROOT}/lib/skep/#{room.downcase}{.rb,/**/*.rb}")
    ConstantGraph.new(files, root: "Skep::#{room}")
  end

  # Of Skep::Swarm::Nodes::Slot it is Nodes; nil of Skep::Swarm itself and its constants.
  def folder(room, name)
    part = name[/\ASkep::#{room}::(\w+)/, 1]
    BESIDE.fetch(part, (part if FOLDERS[room].include?(part)))
  end

  # The rooms' constants and facade methods that are defined once the feature has been required.
  def boot(feature, pure)
    program = <<~RUBY
      require #{feature.inspect}
      puts #{ROOMS.values.map(&:constant)}.select { |name| Skep.const_defined?(name, false) }.join(" ")
      puts #{ROOMS.values.flat_map(&:facade)}.select { |name| Skep.respond_to?(name) }.join(" ")
    RUBY
    env = { "SKEP_PURE" => pure, "RUBYOPT" => "--disable=gems" }
    out, err, status = run_program(program, env:)
    assert_equal "", err
    assert_predicate status, :success?
    out.lines.map(&:split)
  end

  # The room's code as "path:line: text", comments left out.
  def code_of(room)
    Dir.glob("lib/skep/#{room}{.rb,/**/*.rb}", base: ROOT).flat_map do |path|
      lines = File.readlines("#{ROOT}/#{path}", encoding: "UTF-8")
      lines.map.with_index(1) { |line, number| "#{path}:#{number}: #{line}" unless line[/\A\s*#/] }
    end.compact
  end
end
