# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "skep"

class HeapSizeHintTest < Skep::TestCase
  SLOTS = "RUBY_GC_HEAP_INIT_SLOTS"
  private_constant :SLOTS

  def setup
    @directory = Dir.mktmpdir
    super
  end

  def teardown
    super
    FileUtils.rm_rf(@directory)
  end

  test "gives a file's first mold no hint" do
    assert_equal [{}, []], [heap.environment, heap.requires]
  end

  test "gives the next mold a tenth more slots on Ruby 3.1, and no hint on later Rubies" do
    heap.remember(slots: 1_000_000, reshare: false)
    expected = RUBY_VERSION < "3.2" ? ["1100000"] : []
    assert_equal expected, heap.environment.values_at(SLOTS).compact
    assert_empty heap.requires
  end

  test "keeps no hint for a small heap" do
    heap.remember(slots: 1_000_000, reshare: false)
    heap.remember(slots: 50_000, reshare: false)
    assert_empty heap.environment
    assert_empty Dir.children(@directory)
  end

  test "with reshare, requires skep/reshare and sets no heap size" do
    heap.remember(slots: 1_000_000, reshare: true)
    assert_equal [{}, ["-rskep/reshare"]], [heap.environment, heap.requires]
  end

  test "gives no hint if the user has set RUBY_GC_HEAP_INIT_SLOTS" do
    heap.remember(slots: 1_000_000, reshare: false)
    assert_empty heap(env: { SLOTS => "5" }).environment
  end

  test "ignores another file's hint, and a file that is no hint" do
    heap.remember(slots: 1_000_000, reshare: true)
    assert_empty heap("other.rb").requires
    record = Dir.glob("#{@directory}/*").fetch(0)
    ["", "[]", "{", '{"slots":-1,"reshare":true}'].each do |text|
      File.write(record, text)
      assert_equal [{}, []], [heap.environment, heap.requires]
    end
  end

  test "identifies a swarm file by the bytes of its path, whatever their encoding" do
    path = "/srv/caf\u00e9/\xFF.rb"
    heap(path).remember(slots: 1_000_000, reshare: true)
    [Encoding::UTF_8, Encoding::US_ASCII, Encoding::BINARY].each do |encoding|
      same = path.dup.force_encoding(encoding)
      assert_equal ["-rskep/reshare"], heap(same).requires
      heap(same).remember(slots: 2_000_000, reshare: true)
    end
  end

  test "forget removes the hint, and may be called again" do
    heap.remember(slots: 1_000_000, reshare: true)
    2.times { heap.forget }
    assert_equal [{}, []], [heap.environment, heap.requires]
  end

  test "never reads or writes through a symbolic link, or in a directory open to other users" do
    heap.remember(slots: 1_000_000, reshare: true)
    record = Dir.glob("#{@directory}/*").fetch(0)
    precious = "#{@directory}/precious"
    File.rename(record, precious)
    text = File.read(precious)
    File.symlink(precious, record)
    assert_empty heap.requires
    File.symlink(precious, "#{record}.#{Process.pid}")
    heap.remember(slots: 2_000_000, reshare: true)
    assert_equal [text, ["-rskep/reshare"]], [File.read(precious), heap.requires]
    heap.forget
    File.chmod(0o777, @directory)
    heap.remember(slots: 2_000_000, reshare: true)
    assert_empty heap.requires
  end

  test "gives no hint if it can't write the file" do
    missing = Skep::Swarm::Molds::HeapSizeHint.new("swarm.rb", directory: "/proc/nowhere", env: {})
    assert_nil missing.remember(slots: 1, reshare: true)
    assert_empty missing.requires
  end

  private

  def heap(file = "swarm.rb", env: {})
    Skep::Swarm::Molds::HeapSizeHint.new(file, directory: @directory, env:)
  end
end
